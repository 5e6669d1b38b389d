//! The quirks of posted logs, one small made-up log each.

use super::*;
use crate::machine::Links;
use crate::measurement::{Flag, Outcome};

const HEADER: &str = "\
#                                                              out-of-place                       in-place          
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)        
";

fn preamble(gpus: u64) -> String {
    let mut text = format!(
        "# nThread 1 nGpus {gpus} minBytes 8 maxBytes 64 step: 2(factor) warmup iters: 5 iters: 20 \
         agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n"
    );
    for rank in 0..gpus {
        text += &format!(
            "#  Rank {rank:2} Group  0 Pid   4242 on     node-a device {rank:2} [0x1{rank}] Made-up GPU\n"
        );
    }
    text
}

/// A row whose bandwidths follow from `time_us` and the bus factor `factor`.
fn row(bytes: u64, kind: &str, redop: &str, root: i64, time_us: f64, factor: f64) -> String {
    let half = |time: f64| {
        let algorithm = bytes as f64 / time / 1e3;
        let bus = algorithm * factor;
        format!("{time:9.2}  {algorithm:6.2}  {bus:6.2}       0")
    };
    let count = bytes / 4;
    format!(
        "{bytes:12}  {count:12}  {kind:>8}  {redop:>6}  {root:>6}{}{}\n",
        half(time_us),
        half(time_us + 0.5)
    )
}

fn sums(factor: f64) -> String {
    [(1 << 20, 20.0), (1 << 22, 44.0), (1 << 24, 99.0)]
        .map(|(bytes, time)| row(bytes, "float", "sum", -1, time, factor))
        .concat()
}

fn import(text: &str) -> Result<Imported, ImportError> {
    import_as(text, "log.txt", &ImportOptions::default())
}

fn import_as(text: &str, name: &str, options: &ImportOptions) -> Result<Imported, ImportError> {
    assert!(recognises(text), "not recognised:\n{text}");
    read(text, Path::new(name), options)
}

fn points(imported: &Imported) -> Vec<String> {
    imported.records.iter().map(|record| record.point.to_string()).collect()
}

fn out_of_place(imported: &Imported) -> usize {
    imported.records.iter().filter(|record| record.conditions.kernel.is_empty()).count()
}

fn refusal(text: &str) -> String {
    import(text).map(|imported| points(&imported)).unwrap_err().to_string()
}

#[test]
fn a_plain_log_is_read_whole_with_both_halves() {
    let log = preamble(8) + HEADER + &sums(1.75) + "# Out of bounds values : 0 OK\n";
    let imported = import(&log).unwrap();
    assert_eq!((imported.records.len(), out_of_place(&imported)), (6, 3));
    let first = &imported.records[0];
    assert_eq!(first.point.to_string(), "collective all_reduce/f32 ranks=8 nodes=1 bytes=1048576");
    assert_eq!(first.time().unwrap().get(), 20_000);
    assert_eq!(imported.records[1].conditions.kernel, IN_PLACE);
    assert_eq!(imported.machine.device.as_deref(), Some("Made-up GPU"));
    assert_eq!(imported.summary.dropped_rows(), 0);
    let Outcome::Measured(measurement) = &first.outcome else { panic!("not measured") };
    assert_eq!(measurement.executions_per_sample, 20);
}

#[test]
fn messages_between_and_inside_rows_cost_no_whole_row() {
    let mut rows: Vec<String> = sums(1.75).lines().map(|line| format!("{line}\n")).collect();
    rows.insert(1, "node-a:42:43 [3] NCCL INFO Channel 07/0 : 3[3] -> 4[4] via P2P\n".to_owned());
    rows.insert(2, format!("{}node-a:42:43 [1] NCCL INFO comm 0x1 nRanks 08\n", &rows[2][..40]));
    let imported = import(&(preamble(8) + HEADER + &rows.concat())).unwrap();
    assert_eq!(out_of_place(&imported), 3);
    let reasons: Vec<&str> =
        imported.summary.dropped.iter().map(|dropped| dropped.reason.as_str()).collect();
    assert_eq!(reasons, ["message between the rows", "row is cut short"]);
    assert!(imported.summary.notes.iter().any(|note| note.contains("no closing lines")));
}

#[test]
fn prefixes_and_colour_do_not_matter() {
    let log = preamble(8) + HEADER + &sums(1.75);
    for prefix in ["0: ", "[1,0]<stdout>:", "\u{1b}[32m", "node-a: ", "2031-01-02T03:04:05.6Z "] {
        let prefixed: String = log.lines().map(|line| format!("{prefix}{line}\n")).collect();
        assert_eq!(out_of_place(&import(&prefixed).unwrap()), 3, "{prefix}");
    }
}

#[test]
fn a_single_rank_is_refused() {
    let error = refusal(&(preamble(1) + HEADER + &sums(0.0)));
    assert!(error.starts_with("log.txt:1: world size 1"), "{error}");
    let copies = row(1 << 20, "float", "none", 0, 3.0, 1.0);
    assert!(refusal(&(preamble(1) + HEADER + &copies)).contains("world size 1"));
}

#[test]
fn two_runs_at_once_are_refused() {
    let twice =
        |text: &str| -> String { text.lines().flat_map(|line| [line, "\n", line, "\n"]).collect() };
    let log = preamble(4) + HEADER + &sums(1.5);
    for (name, text) in [
        ("every line twice", twice(&log)),
        ("rows twice", preamble(4) + HEADER + &twice(&sums(1.5))),
        (
            "rank list twice",
            twice(&preamble(4).lines().skip(2).collect::<Vec<_>>().join("\n"))
                + HEADER
                + &sums(1.5),
        ),
        (
            "second begins later",
            preamble(4)
                + HEADER
                + &row(1 << 24, "float", "sum", -1, 99.0, 1.5)
                + &preamble(4)
                + HEADER
                + &row(1 << 25, "float", "sum", -1, 199.0, 1.5)
                + &row(1 << 23, "float", "sum", -1, 59.0, 1.5),
        ),
    ] {
        assert!(refusal(&text).contains("two runs in one file"), "{name}");
    }
}

#[test]
fn runs_after_each_other_are_read_one_by_one() {
    let close = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 9.0\n#\n";
    let gathers = row(1 << 20, "float", "none", -1, 20.0, 0.75);
    let log = format!(
        "# Collective test starting: all_reduce_perf\n{p}{HEADER}{}{close}\
         # Collective test concluded: all_reduce_perf\n\
         Running: ./build/all_gather_perf -b 1M\n{p}{HEADER}{gathers}{close}",
        sums(1.5),
        p = preamble(4),
    );
    let imported = import(&log).unwrap();
    let gather = "collective all_gather/f32 ranks=4 nodes=1 bytes=1048576";
    assert_eq!(points(&imported).iter().filter(|point| *point == gather).count(), 2);
    assert_eq!(out_of_place(&imported), 4);
}

#[test]
fn a_run_that_was_pasted_twice_is_one_run() {
    let close = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 9.0\n#\n";
    let log = |rows: &str| preamble(4) + HEADER + rows + close;
    let once = import(&log(&sums(1.5))).unwrap();
    let cut: String = sums(1.5).lines().take(2).map(|line| format!("{line}\n")).collect();
    for (again, folded) in [(sums(1.5), 6), (cut, 4)] {
        let twice = import(&(log(&sums(1.5)) + &log(&again))).unwrap();
        assert_eq!(twice.records, once.records);
        let told = format!("repeats an earlier one exactly: its {folded} records are folded");
        let notes = &twice.summary.notes;
        assert!(notes.iter().any(|note| note.contains(&told)), "{notes:?}");
        assert!(notes.iter().any(|note| note.contains("the run from line 17 on")), "{notes:?}");
    }
    // Another run of the same points is a repeat, though some of its times are the same.
    let other = sums(1.5).replace("44.00", "44.10");
    assert_eq!(import(&(log(&sums(1.5)) + &log(&other))).unwrap().records.len(), 12);
}

#[test]
fn a_file_that_ends_inside_a_row_says_so() {
    let whole = preamble(8) + HEADER + &sums(1.75);
    let last = whole.trim_end().rfind('\n').unwrap() + 1;
    let number = whole.lines().count();
    let text = &whole[last..];
    let ends = [
        text.find("16777216").unwrap() + 5,
        text.find("4194304").unwrap() + 7,
        text.find("float").unwrap() + 3,
        text.find("sum").unwrap() + 3,
        text.len() - 20,
    ];
    for end in ends {
        for line_end in ["", "\n", "\n\n"] {
            let log = format!("{}{line_end}", &whole[..last + end]);
            let imported = import(&log).unwrap();
            assert_eq!(out_of_place(&imported), 2, "{end}");
            let dropped = &imported.summary.dropped;
            assert_eq!(dropped.len(), 1, "{dropped:?}");
            assert_eq!(dropped[0].reason, "the file ends inside this row", "{end}");
            assert_eq!(dropped[0].lines, [number]);
        }
    }
}

#[test]
fn exponents_missing_checks_and_empty_calls_are_understood() {
    let rows = "\
          8             2     float     sum      -1    11.40    0.00    0.00       0    11.20    0.00    0.00       0
 1073741824     268435456     float     sum      -1  5980.00  179.56  314.22     N/A  5970.00  179.86  314.75     N/A
68719476736   17179869184     float     sum      -1  3820000   17.99   31.48     N/A  3.8e+07    1.79    3.14     N/A
    1048576        262144     float    none       2                                    17.60   59.58   59.58       0
          0             0     float     sum      -1     6.20    0.00    0.00       0     6.10    0.00    0.00       0
";
    let imported = import(&(preamble(8) + HEADER + rows)).unwrap();
    let found = points(&imported);
    assert_eq!(found.len(), 7, "{found:?}");
    let copy = imported.records.iter().find(|r| r.point.to_string().contains("broadcast")).unwrap();
    assert_eq!(copy.conditions.kernel, IN_PLACE);
    assert!(found.iter().all(|point| !point.ends_with("bytes=0")));
    assert!(
        imported.summary.notes.iter().any(|note| note.contains("1 row of 0 bytes took 6.2 µs"))
    );
    assert_eq!(imported.records.iter().filter_map(|r| r.time()).max().unwrap().us(), 3.8e7);
}

#[test]
fn ranks_and_collective_follow_from_the_bandwidths() {
    let imported = import(&(HEADER.to_owned() + &sums(1.875))).unwrap();
    assert!(points(&imported)[0].contains("all_reduce/f32 ranks=16"));
    let scatter = import(&(HEADER.to_owned() + &sums(0.875))).unwrap();
    assert!(points(&scatter)[0].contains("reduce_scatter/f32 ranks=8"));
}

#[test]
fn what_the_log_leaves_open_is_asked_for() {
    let open = HEADER.to_owned() + &row(1 << 20, "float", "none", 0, 20.0, 1.0);
    assert!(refusal(&open).contains("number of ranks is not stated"));
    let options = ImportOptions { ranks: Some(4), links: Links::Pcie, ..Default::default() };
    let imported = import_as(&open, "log.txt", &options).unwrap();
    assert!(points(&imported)[0].contains("broadcast/f32 ranks=4"));

    let unchecked = row(1 << 20, "float", "none", -1, 20.0, 0.75).replace("       0", "     N/A");
    let open = preamble(4) + HEADER + &unchecked;
    let error = import(&open).unwrap_err();
    assert!(error.to_string().contains("fit all_gather, all_to_all"), "{error}");
    assert_eq!(error.hint().as_deref(), Some("state it with `--collective`"));
    // The name of a file is shown to a person, and decides nothing.
    let named = |name| import_as(&open, name, &ImportOptions::default()).unwrap_err();
    let guess = "is it `--collective all_gather`, as the file's name says?";
    assert!(named("h9-all-gather.log").hint().unwrap().ends_with(guess));
    let unlikely = named("h9-all-reduce.log").hint();
    assert_eq!(unlikely.as_deref(), Some("state it with `--collective`"));
    let reduce = HEADER.to_owned() + &sums(1.875);
    let imported = import_as(&reduce, "all-gather.log", &ImportOptions::default()).unwrap();
    assert!(points(&imported)[0].contains("all_reduce/f32 ranks=16"));
    let options = ImportOptions { collective: Some(Collective::AllToAll), ..Default::default() };
    assert!(points(&import_as(&open, "log", &options).unwrap())[0].contains("all_to_all/"));
}

#[test]
fn rows_that_cannot_be_read_are_told_with_line_and_value() {
    let header = preamble(4) + HEADER;
    let line = header.lines().count() + 1;
    let error = refusal(&(header.clone() + &sums(1.5).replace("float", "float7")));
    let expected = format!("log.txt:{line}: no usable rows; the first: unknown dtype `float7`");
    assert_eq!(error, expected);
    let row = row(1 << 20, "float", "sum", -1, 20.0, 1.5);
    let glued = header + row.trim_end() + " " + &row + &sums(1.5);
    let dropped = &import(&glued).unwrap().summary.dropped;
    assert_eq!(dropped[0].reason, "the line holds more than one row");
}

#[test]
fn devices_are_counted_in_one_node() {
    let ranks = (0..64).map(|rank| {
        let (host, device) = (rank / 8, rank % 8);
        format!("#  Rank {rank:2} Group  0 Pid 1 on host{host} device {device} [0x05] GPU\n")
    });
    let log = preamble(1).lines().next().unwrap_or_default().to_owned()
        + "\n"
        + &ranks.collect::<String>()
        + HEADER
        + &sums(1.968_75);
    let imported = import(&log).unwrap();
    assert_eq!((imported.machine.count, imported.machine.nodes), (Some(8), Some(8)));
    assert!(points(&imported)[0].contains("ranks=64 nodes=8"));
}

#[test]
fn a_program_of_another_kind_is_refused_by_name() {
    let log = format!(
        "# Collective test starting: hypercube_perf\n{}{HEADER}{}",
        preamble(4),
        sums(0.75)
    );
    assert!(refusal(&log).contains("`hypercube` is not a collective"));
}

#[test]
fn one_process_per_size_repeats_the_header_and_may_leave_a_half_out() {
    let one = |bytes: u64, time: f64| {
        let row = row(bytes, "float", "sum", -1, time, 1.5);
        let half = &row[..row.len() - 34];
        preamble(4) + HEADER + half + "\n# Out of bounds values : 0 OK\n# Avg bus bandwidth : 1\n"
    };
    let imported = import(&(one(1 << 20, 20.0) + &one(1 << 22, 44.0))).unwrap();
    assert_eq!((imported.records.len(), out_of_place(&imported)), (2, 2));
}

#[test]
fn contradictions_are_refused_with_both_sides() {
    let error = refusal(&(preamble(4) + HEADER + &sums(1.75)));
    assert!(error.contains("4 ranks are stated") && error.contains("fit 8"), "{error}");
    let half = sums(1.75).replace("float", "half");
    assert!(refusal(&(preamble(8) + HEADER + &half)).contains("no usable rows"));
    let milli = HEADER.replace("(us)", "(ms)");
    let error = import(&(preamble(8) + &milli + &sums(1.75))).unwrap_err();
    assert!(error.to_string().contains("disagree"), "{error}");
    assert!(error.hint().unwrap().contains("another unit"));
}

#[test]
fn a_row_that_contradicts_its_own_bandwidth_is_dropped() {
    let torn = sums(1.75).replacen("    44.00", "   440.00", 1);
    let imported = import(&(preamble(8) + HEADER + &torn)).unwrap();
    assert_eq!(out_of_place(&imported), 2);
    assert_eq!(imported.summary.dropped_rows(), 1);
}

#[test]
fn wrong_results_are_flagged_where_the_log_shows_them_or_everywhere() {
    let wrong = sums(1.75).replacen("       0", "      96", 1);
    let flagged =
        |text: &str| import(text).unwrap().summary.flagged.get(&Flag::FailedCheck).copied();
    let failed = "# Out of bounds values : 4 FAILED\n";
    assert_eq!(flagged(&(preamble(8) + HEADER + &wrong + failed)), Some(1));
    assert_eq!(flagged(&(preamble(8) + HEADER + &sums(1.75) + failed)), Some(6));
    assert_eq!(flagged(&(preamble(8) + HEADER + &sums(1.75))), None);
}

#[test]
fn the_oldest_layout_counts_milliseconds_behind_a_hash() {
    let log = "\
# nThread 1 nGpus 2 minBytes 1 maxBytes 1048576 step: 2(factor) warmup iters: 5 iters: 20 validation: 0
# NCCL Tests compiled with NCCL 2.4
#   Rank  0 on      node-a device  0 [0x05] Old GPU
#   Rank  1 on      node-a device  1 [0x06] Old GPU
#      bytes             N    type      op     time  algbw  busbw      res     time  algbw  busbw      res
#           0             0   float     sum    0.009   0.00   0.00       N/A    0.010   0.00   0.00      N/A
#      524288        131072   float     sum    0.158   3.32   3.32       N/A    0.158   3.32   3.32      N/A
#     1048576        262144   float     sum    0.293   3.58   3.58       N/A    0.294   3.57   3.57      N/A
";
    let imported = import(log).unwrap();
    assert_eq!(imported.records[0].time().unwrap().us(), 158.0);
    assert!(points(&imported)[0].contains("all_reduce/f32 ranks=2"));
    assert_eq!(imported.machine.software["nccl"], "2.4");
}

#[test]
fn the_old_bandwidth_definition_is_recognised() {
    // 12 ranks, all-gather: both columns hold size * 11/12 / time.
    let row = |bytes: u64, time: f64| {
        let bus = bytes as f64 / time / 1e3 * 11.0 / 12.0;
        let count = bytes / 48;
        format!(
            "{bytes:12} {count:12} float {time:8.1} {bus:6.2} {bus:6.2} 0e+00 {time:8.1} {bus:6.2} {bus:6.2} 0e+00\n"
        )
    };
    let header = "# size count type time algbw busbw error time algbw busbw error\n\
                  # (B) (elements) (us) (GB/s) (GB/s) (us) (GB/s) (GB/s)\n";
    let log = preamble(12) + header + &row(33_554_400, 465.7) + &row(67_108_848, 915.3);
    let options =
        ImportOptions { collective: Some(Collective::AllGather), ..ImportOptions::default() };
    let imported = import_as(&log, "log.txt", &options).unwrap();
    assert_eq!(imported.records[0].time().unwrap().us(), 465.7);
    assert!(imported.summary.notes.iter().any(|note| note.contains("before June 2020")));
}

#[test]
fn nodes_are_counted_and_hosts_forgotten() {
    let log = preamble(4).replace("on     node-a device  3", "on     node-b device  3");
    let imported = import(&(log + HEADER + &sums(1.5))).unwrap();
    assert!(points(&imported)[0].contains("nodes=2"));
    let everything = format!("{imported:?}");
    assert!(!everything.contains("node-a") && !everything.contains("4242"), "{everything}");
}

#[test]
fn a_report_keeps_its_environment_to_itself() {
    let report = r#"{"version": 1, "args": ["all_reduce_perf", "--secret-argument"],
        "env": ["EXAMPLE_API_TOKEN=not-a-real-secret"], "nccl_version": 22903,
        "devices": [{"rank": 0, "hostname": "node-a", "device": 0, "device_info": "Made-up GPU"}],
        "results": [{"size": 1024, "count": 256, "type": "float", "redop": "sum", "root": "    -1",
          "out_of_place": {"time": 12.5, "alg_bw": 0.082, "bus_bw": 0.143, "nwrong": 0.0},
          "in_place": {"time": "nan", "alg_bw": "nan", "bus_bw": "nan", "nwrong": null}}]}"#;
    let imported = import(report).unwrap();
    assert_eq!(points(&imported), ["collective all_reduce/f32 ranks=8 nodes=1 bytes=1024"]);
    assert_eq!(imported.machine.software["nccl"], "2.29.3");
    let everything = format!("{imported:?}");
    for secret in ["not-a-real-secret", "EXAMPLE", "secret-argument", "node-a"] {
        assert!(!everything.contains(secret), "{secret}");
    }
    let cut = &report[..report.len() - 40];
    assert!(refusal(cut).contains("ends early"));
}

#[test]
fn iterations_of_a_report_become_median_and_spread() {
    let report = r#"{"version":3,"args":["./all_gather_perf"],"nccl_version":23007,
        "config":{"nthreads":1,"ngpus":2,"iterations":3,"aggregated_iterations":1,
          "devices":[{"rank":0,"device_info":"Made-up GPU"}]},
        "results":[{"size":8388608,"count":1048576,"type":"float","redop":"none","root":"-1",
          "out_of_place":{"time":66.440000,"alg_bw":126.258399,"bus_bw":63.129199,"nwrong":0.0},
          "out_of_place_per_iter":{"times_us":[66.2,65.1,68.0]},
          "in_place":null}],"out_of_bounds":{"count":0,"okay":"true"}}"#;
    let imported = import(report).unwrap();
    let Outcome::Measured(measurement) = &imported.records[0].outcome else { panic!() };
    assert_eq!((measurement.time.get(), measurement.samples), (66_200, 3));
    assert_eq!(measurement.spread.unwrap().max.get(), 68_000);
    assert!(points(&imported)[0].contains("all_gather/f32 ranks=2"));
}

#[test]
fn no_mutation_of_a_log_or_report_panics() {
    let log = preamble(4) + HEADER + &sums(1.5) + "# Out of bounds values : 0 OK\n";
    let report = r#"{"version":3,"args":["all_reduce_perf"],"nccl_version":22903,"config":{"ngpus":2},
        "results":[{"size":8,"count":2,"type":"float","redop":"sum","root":"-1",
        "out_of_place":{"time":1.5,"alg_bw":0.01,"bus_bw":0.01,"nwrong":0}}]}"#;
    let junk =
        ["", "N/A", "-1", "1e999", "99999999999999999999", "µ", "#", "[0]", "NCCL INFO", "\u{1b}["];
    let mut state = 1_u64;
    let mut next = |below: usize| {
        // Knuth's MMIX generator.
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below.max(1)
    };
    for round in 0..4000 {
        let source = if round % 4 == 0 { report } else { &log };
        let mut words: Vec<&str> = source.split_inclusive(' ').collect();
        for _ in 0..=next(3) {
            let at = next(words.len());
            words[at] = junk[next(junk.len())];
        }
        words.truncate(1 + next(words.len() * 4));
        let text = words.concat();
        let options =
            ImportOptions { ranks: [None, Some(0), Some(4)][next(3)], ..Default::default() };
        if recognises(&text) {
            // Any answer will do, as long as it is one.
            let _ = read(&text, Path::new("mutated"), &options);
        }
    }
}

#[test]
fn a_run_that_died_says_why_it_has_no_rows() {
    let log = preamble(4) + "node-a: Test CUDA failure common.cu:1304 'devices are busy'\n";
    let error = refusal(&log);
    assert!(
        error.contains("no usable rows: Test CUDA failure") && !error.contains("node-a"),
        "{error}"
    );
    let fragment = sums(1.75);
    assert!(refusal(&fragment).contains("rows without a header"));
}
