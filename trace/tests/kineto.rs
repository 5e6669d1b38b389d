//! Kineto traces as writers of six years left them, whole and broken. All of them are made up.

use kernelgauge_data::Diagnostic;
use kernelgauge_trace::recording::{Category, Event, NONE, Recording};
use kernelgauge_trace::{ReadOptions, TraceError, kineto};

fn read(text: impl AsRef<[u8]>) -> Result<Recording, TraceError> {
    kineto::read("t.json", text.as_ref(), &ReadOptions::default())
}

fn read_cut(text: &str) -> Result<Recording, TraceError> {
    let options = ReadOptions { allow_truncated: true, ..ReadOptions::default() };
    kineto::read("t.json", text.as_bytes(), &options)
}

/// A trace of these events.
fn trace(events: &str) -> String {
    format!("{{\"schemaVersion\": 1, \"traceEvents\": [{events}], \"traceName\": \"t\"}}")
}

fn op(name: &str, ts: &str, dur: &str) -> String {
    format!(
        "{{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"{name}\", \"pid\": 1, \"tid\": 2, \
         \"ts\": {ts}, \"dur\": {dur}, \"args\": {{\"External id\": 7}}}}"
    )
}

fn names(recording: &Recording) -> Vec<&str> {
    recording.events.iter().map(|event| recording.names.text(event.name)).collect()
}

/// What was said when it was refused; that it was not, otherwise.
fn message(result: Result<Recording, TraceError>) -> String {
    result.err().map_or_else(
        || "it was read".to_owned(),
        |error| format!("{error} [{}]", error.hint().unwrap_or_default()),
    )
}

fn only(recording: &Recording) -> &Event {
    assert_eq!(recording.events.len(), 1);
    &recording.events[0]
}

#[test]
fn times_keep_their_nanoseconds() {
    // Kernels below a microsecond: rounded to microseconds they would last less than nothing.
    let text = trace(&op("a", "1694128201435418.123", "0.352"));
    let recording = read(text).unwrap();
    let event = only(&recording);
    assert_eq!(event.start.get(), 1_694_128_201_435_418_123);
    assert_eq!(event.duration.get(), 352);
    assert_eq!(event.external, 7);
    assert_eq!(event.correlation, NONE);
    assert_eq!(recording.properties["schemaVersion"], "1");
    // Users, hosts, jobs and paths belong into no output.
    assert_eq!(recording.properties.len(), 1);
}

#[test]
fn the_base_of_times_may_stand_before_or_after_the_events() {
    let base = "\"baseTimeNanoseconds\": 1711964646000000000";
    let events = format!("\"traceEvents\": [{}]", op("a", "4458676524670.502", "1"));
    for text in [format!("{{{base}, {events}}}"), format!("{{{events}, {base}}}")] {
        let recording = read(text).unwrap();
        assert_eq!(only(&recording).start.get(), 1_711_964_646_000_000_000 + 4_458_676_524_670_502);
        assert!(!recording.oddities.relative);
    }
    let far = format!("{{{events}, \"baseTimeNanoseconds\": 9223372036854775807}}");
    let recording = read(far).unwrap();
    assert_eq!(only(&recording).start.get(), 4_458_676_524_670_502);
    assert!(recording.oddities.relative);
}

#[test]
fn a_trace_of_2021_reads_like_one_of_today() {
    let old = trace(
        r#"{"ph": "X", "cat": "Operator", "name": "ProfilerStep#5", "pid": 10, "tid": "10", "ts": 1, "dur": 90, "args": {"Device": 10, "External id": 2, "Input Dims": [], "Input type": []}},
           {"ph": "X", "cat": "Operator", "name": "aten::mm", "pid": 10, "tid": "10", "ts": 2, "dur": 30, "args": {"External id": 3, "Input Dims": [[2, 3], [3, 4]], "Input type": ["float", "float"], "Fwd thread id": 0, "Sequence number": 12}},
           {"ph": "X", "cat": "Runtime", "name": "cudaLaunchKernel", "pid": 10, "tid": "10", "ts": 3, "dur": 5, "args": {"cbid": 211, "correlation": 77, "external id": 3, "external ts": 2}},
           {"ph": "s", "id": 77, "pid": 10, "tid": 10, "ts": 3, "cat": "async", "name": "launch"},
           {"ph": "X", "cat": "Kernel", "name": "gemm", "pid": 0, "tid": "stream 7", "ts": 12, "dur": 4, "args": {"device": 0, "stream": 7, "correlation": 77, "external id": 3, "registers per thread": 38, "shared memory": 16, "grid": [50, 1, 1], "block": [256, 1, 1]}},
           {"ph": "f", "id": 77, "pid": 0, "tid": "stream 7", "ts": 12, "cat": "async", "name": "launch", "bp": "e"},
           {"ph": "X", "cat": "Memcpy", "name": "Memcpy HtoD", "pid": 0, "tid": "stream 7", "ts": 17, "dur": 4, "args": {"device": 0, "stream": 7, "correlation": 78, "bytes": 4096}},
           {"ph": "i", "name": "[memory]", "s": "t", "pid": 10, "tid": 10, "ts": 5, "args": {"Bytes": 4}}"#,
    );
    let recording = read(old).unwrap();
    let kinds: Vec<_> = recording.events.iter().map(|event| event.category).collect();
    assert_eq!(
        kinds,
        [Category::Annotation, Category::Op, Category::Runtime, Category::Kernel, Category::Copy]
    );
    let [_, mm, launch, kernel, copy] = &recording.events[..] else { panic!("five events") };
    assert_eq!((mm.external, mm.sequence), (3, 12));
    assert_eq!((launch.correlation, launch.external), (77, 3));
    assert_eq!((kernel.correlation, kernel.external), (77, 3));
    let facts = recording.ops.get(mm.facts.unwrap()).unwrap();
    assert_eq!(recording.names.text(facts.dims), "[[2, 3], [3, 4]]");
    assert_eq!(recording.names.text(facts.types), "[\"float\", \"float\"]");
    let facts = recording.device_facts.get(kernel.facts.unwrap()).unwrap();
    assert_eq!((facts.device, facts.stream, facts.registers, facts.shared_bytes), (0, 7, 38, 16));
    assert_eq!((facts.grid, facts.block, facts.bytes), ([50, 1, 1], [256, 1, 1], NONE));
    assert_eq!(recording.device_facts.get(copy.facts.unwrap()).unwrap().bytes, 4096);
    // The thread is one row, whether written as a number or as a text of one.
    let rows: Vec<_> = recording
        .tracks
        .iter()
        .map(|track| (recording.names.text(track.process), recording.names.text(track.thread)))
        .collect();
    assert_eq!(rows, [("10", "10"), ("0", "stream 7")]);
    assert_eq!((recording.oddities.launch_arrows, recording.oddities.instants), (2, 1));
}

#[test]
fn collectives_are_kept_from_kernels_and_ops() {
    let stated = r#""Collective name": "all_to_allv", "In msg nelems": 10, "Out msg nelems": 12, "Group size": 2, "dtype": "Float", "In split size": "[4, 6]", "Out split size": "[5, 7]", "Process Group Name": "3", "Process Group Description": "mesh", "Process Group Ranks": "[0, 1]", "Seq": 41, "Comms Id": 12345678901234567890, "Src Rank": 0, "Dst Rank": 1"#;
    let text = trace(&format!(
        r#"{{"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 1, "tid": 1, "ts": 1, "dur": 2, "args": {{"Record function id": 9, {stated}}}}},
           {{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_SendRecv", "pid": 0, "tid": 20, "ts": 4, "dur": 2, "args": {{"correlation": 5, "stream": 20, {stated}}}}}"#
    ));
    let recording = read(text).unwrap();
    let [op, kernel] = &recording.events[..] else { panic!("two events") };
    assert_eq!(op.record_function, 9);
    let of_op = recording.ops.get(op.facts.unwrap()).unwrap().collective;
    let of_kernel = recording.device_facts.get(kernel.facts.unwrap()).unwrap().collective;
    assert_eq!(of_op, of_kernel, "the same statement is kept once");
    let facts = recording.collectives.get(of_op.unwrap()).unwrap();
    let text = |symbol| recording.names.text(symbol);
    assert_eq!(
        (text(facts.name), text(facts.dtype), text(facts.group)),
        ("all_to_allv", "Float", "3")
    );
    assert_eq!((text(facts.split_in), text(facts.split_out)), ("[4, 6]", "[5, 7]"));
    assert_eq!((text(facts.ranks), text(facts.description)), ("[0, 1]", "mesh"));
    assert_eq!(text(facts.communicator), "12345678901234567890");
    assert_eq!((facts.elements_in, facts.elements_out, facts.group_size), (10, 12, 2));
    assert_eq!((facts.sequence, facts.source, facts.destination), (41, 0, 1));
}

#[test]
fn synchronisations_arrows_and_other_makers() {
    let text = trace(
        r#"{"ph": "X", "cat": "cuda_sync", "name": "Event Sync", "pid": 0, "tid": -1, "ts": 1, "dur": 2, "args": {"wait_on_stream": 7, "wait_on_cuda_event_record_corr_id": 1533, "wait_on_cuda_event_id": 8, "stream": -1, "correlation": 1536, "device": 0}},
           {"ph": "s", "cat": "fwdbwd", "name": "fwdbwd", "id": 5, "pid": 1, "tid": 1, "ts": 1.5},
           {"ph": "f", "cat": "fwdbwd", "name": "fwdbwd", "id": 5, "pid": 1, "tid": 3, "ts": 2.5, "bp": "e"},
           {"ph": "X", "cat": "mtia_ccp_events", "name": "dma_request", "pid": 17, "tid": 4, "ts": "3.25", "dur": "1", "args": {"stream": 104, "size": 1024, "correlation": 3}},
           {"ph": "X", "cat": "mtia_ccp_events", "name": "event_wait", "pid": 17, "tid": 4, "ts": 4, "dur": 1, "args": {"stream": 108, "wait_on_stream": 104}},
           {"ph": "X", "cat": "gpu_user_annotation", "name": "ProfilerStep#1", "pid": 0, "tid": 7, "ts": 1, "dur": 9},
           {"ph": "X", "cat": "python_function", "name": "f", "pid": 1, "tid": 1, "ts": 1, "dur": 9, "args": {"Python id": 1}},
           {"ph": "X", "cat": "overhead", "name": "Buffer Flush", "pid": -1, "tid": 0, "ts": 1, "dur": 9},
           {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler", "ts": 0, "dur": 99},
           {"ph": "C", "name": "c", "ts": 1}, {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "ts": 0, "args": {"name": "python"}},
           {"ph": "B", "name": "old", "ts": 1}"#,
    );
    let recording = read(&text).unwrap();
    let kinds: Vec<_> = recording.events.iter().map(|event| event.category).collect();
    assert_eq!(kinds, [Category::Sync, Category::Copy, Category::Sync, Category::DeviceAnnotation]);
    let [sync, copy, ..] = &recording.events[..] else { panic!("four events") };
    let facts = recording.syncs.get(sync.facts.unwrap()).unwrap();
    assert_eq!((facts.stream, facts.awaited_stream, facts.record_correlation), (-1, 7, 1533));
    assert_eq!(sync.correlation, 1536);
    assert_eq!(copy.start.get(), 3250);
    assert_eq!(recording.device_facts.get(copy.facts.unwrap()).unwrap().bytes, 1024);
    let flows: Vec<_> =
        recording.flows.iter().map(|flow| (flow.id, flow.begins, flow.at.get())).collect();
    assert_eq!(flows, [(5, true, 1500), (5, false, 2500)]);
    let odd = &recording.oddities;
    assert_eq!((odd.python_functions, odd.overheads, odd.spans), (1, 1, 1));
    assert_eq!((odd.counters, odd.metadata, odd.unknown_kinds), (1, 1, 1));

    let options = ReadOptions { keep_python: true, ..ReadOptions::default() };
    let recording = kineto::read("t.json", text.as_bytes(), &options).unwrap();
    assert_eq!(names(&recording)[4..], ["f", "Buffer Flush"]);
}

#[test]
fn careless_writing_is_mended_and_counted() {
    let text = trace(&[op("a\u{1}\tb", "1", "1"), op("c", "2", "1")].join(", "));
    let recording = read(text).unwrap();
    assert_eq!(names(&recording), ["a\u{1}\tb", "c"]);
    assert_eq!(recording.oddities.control_characters, 2);

    let nan = r#"{"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 2, "args": {"warps per SM": NaN, "x": -Infinity, "correlation": 4,}}"#;
    let recording = read(trace(nan)).unwrap();
    assert_eq!(only(&recording).correlation, 4);
    assert_eq!(recording.oddities.no_numbers, 2);

    let mut bytes = trace(&op("a?b", "1", "1")).into_bytes();
    let at = bytes.iter().position(|&byte| byte == b'?').unwrap();
    bytes[at] = 0xff;
    let recording = read(bytes).unwrap();
    assert_eq!(names(&recording), ["a\u{fffd}b"]);
    assert_eq!(recording.oddities.broken_characters, 1);

    // Repeated keys: the last one counts. Commas and elements too many do no harm.
    let twice = r#", {"ph": "X", "cat": "cpu_op", "name": "first", "name": "last", "ts": 1, "ts": 2, "dur": 1},, 5, "text", [[]], null, "#;
    let recording = read(trace(twice)).unwrap();
    assert_eq!(names(&recording), ["last"]);
    assert_eq!(only(&recording).start.get(), 2000);
    assert_eq!(recording.oddities.no_events, 4);
}

#[test]
fn a_bare_list_and_a_byte_order_mark_are_accepted() {
    let recording = read(format!("\u{feff} [{}]\n", op("a", "1", "1"))).unwrap();
    assert_eq!(names(&recording), ["a"]);
    assert!(recording.oddities.bare_list);
}

#[test]
fn impossible_durations_are_dropped_if_rare_and_refused_if_not() {
    let mut events = vec![op("fine", "5", "1"); 300];
    events.insert(7, op("backwards", "1200", "-1200.0"));
    events.push(op("endless", "5", "1.8e+19"));
    events.push(op("long", "5", "1000000000001"));
    let recording = read(trace(&events.join(","))).unwrap();
    assert_eq!(recording.events.len(), 300);
    assert_eq!(recording.oddities.absurd_durations, 3);

    let untimed = r#"{"ph": "X", "cat": "cpu_op", "name": "u", "ts": 1}"#;
    events.push(untimed.to_owned());
    let text = message(read(trace(&events.join(",\n"))));
    assert!(text.contains("4 of 304 timed events"), "{text}");
    assert!(text.contains("the first is \"backwards\"") && text.contains("line 8"), "{text}");
}

#[test]
fn a_file_that_ends_early_is_read_only_if_allowed() {
    let text = trace(&[op("a", "1", "1"), op("b", "2", "1")].join(","));
    let second = text.find("\"b\"").unwrap();
    let error = message(read(&text[..second + 20]));
    assert!(error.contains("after 1 complete events") && error.contains("--allow-truncated"));
    let recording = read_cut(&text[..second + 20]).unwrap();
    assert_eq!(names(&recording), ["a"]);
    assert!(recording.oddities.cut);
    // Wherever it ends, it is refused unless allowed: what follows the events may set their base.
    for end in 0..text.len() {
        assert!(read(&text[..end]).is_err(), "{end}");
    }
    assert!(!read(&text).unwrap().oddities.cut);
}

#[test]
fn a_compressed_file_that_ends_early_is_a_file_that_ends_early() {
    use std::io::{Read, Write};
    let text = trace(&vec![op("a", "1", "1"); 5000].join(","));
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    writer.write_all(text.as_bytes()).unwrap();
    let bytes = writer.finish().unwrap();
    let half = || flate2::read::MultiGzDecoder::new(&bytes[..bytes.len() / 2]);
    let mut first = Vec::new();
    let _ = half().read_to_end(&mut first);
    assert!(!first.is_empty() && first.len() < text.len());
    let error = message(kineto::read("t.json.gz", half(), &ReadOptions::default()));
    assert!(error.contains("the compressed data end before the trace does"), "{error}");
    let options = ReadOptions { allow_truncated: true, ..ReadOptions::default() };
    let recording = kineto::read("t.json.gz", half(), &options).unwrap();
    assert!(recording.oddities.cut && !recording.events.is_empty());
}

#[test]
fn what_is_no_trace_says_what_it_is() {
    for (bytes, expected) in [
        ("", "is empty"),
        (" \n\t", "is empty"),
        ("version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "git lfs pull"),
        ("<!DOCTYPE html><html>", "download the file again"),
        ("{\"a\": 1, \"b\": [2]}", "no list `traceEvents`, only `a`, `b`"),
        ("{}", "empty object"),
        ("{\"schema\": \"1.1.1\", \"nodes\": []}", "this is a PyTorch execution trace"),
        ("{\"traceEvents\": []}", "no event that counts"),
        ("[]", "no event that counts"),
        ("{\"traceEvents\": {\"a\": 1}}", "no list `traceEvents`"),
        ("hello", "is no JSON"),
        ("{\"traceEvents\": [{\"ph\" \"X\"}]}", "bad event"),
        ("{\"traceEvents\": [{} {}]}", "expected a comma"),
        ("{traceEvents: []}", "expected a key"),
        ("{\"a\": , \"traceEvents\": []}", "expected a value"),
        ("[] x", "expected the end of the file"),
    ] {
        let text = message(read(bytes));
        assert!(text.contains(expected) && text.starts_with("t.json: "), "{bytes}: {text}");
    }
}

#[test]
fn errors_say_where() {
    let text = format!("{{\n\"traceEvents\": [\n{},\n{{\"ph\": \"X\" 5}}\n]}}", op("a", "1", "1"));
    let at = text.find("{\"ph\": \"X\" 5").unwrap();
    let error = message(read(&text));
    assert!(error.contains(&format!("byte {at}, line 4")), "{error}");
}

#[test]
fn ranks_devices_and_groups_come_from_the_content() {
    let text = format!(
        r#"{{"huge": {{"nested": [{}]}}, "traceEvents": [{}], "distributedInfo": {{"backend": "nccl", "rank": 3, "world_size": 8, "nccl_version": "2.21.5", "pg_config": [{{"pg_name": "0", "pg_desc": "default_pg", "pg_size": 2, "ranks": [0, 1]}}]}},
            "deviceProperties": [{{"id": 3, "name": "GPU", "numSms": 132, "computeMajor": 9, "computeMinor": 0, "totalGlobalMem": 85899345920}}], "list": [1, "}}"]}}"#,
        vec!["{\"k\": \"]}\\\"\"}"; 100_000].join(","),
        op("a", "1", "1")
    );
    let recording = read(text).unwrap();
    assert_eq!(recording.rank.map(|stated| stated.rank), Some(3));
    assert_eq!((recording.world_size, recording.backend.as_deref()), (Some(8), Some("nccl")));
    assert_eq!(recording.communication_version.as_deref(), Some("2.21.5"));
    assert_eq!(recording.groups[0].ranks, [0, 1]);
    assert_eq!(recording.devices[0].memory_bytes, Some(85_899_345_920));
    assert_eq!(names(&recording), ["a"]);
}

#[test]
fn depth_costs_no_stack() {
    let depth = 200_000;
    let deep = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let event = format!(
        r#"{{"ph": "X", "cat": "cpu_op", "name": "a", "ts": 1, "dur": 1, "args": {{"Input Dims": {deep}, "x": {deep}, "stream": {deep}}}}}"#
    );
    let text = format!(
        "{{\"deep\": {deep}, \"deviceProperties\": {deep}, \"traceEvents\": [{deep}, {event}]}}"
    );
    let recording = read(&text).unwrap();
    let facts = recording.ops.get(only(&recording).facts.unwrap()).unwrap();
    assert_eq!(recording.names.text(facts.dims).len(), 2 * depth);
    assert!(read("[".repeat(depth)).is_err());
    let object = "{\"a\":".repeat(depth);
    assert!(read(format!("[{object}")).is_err() && read(object).is_err());
}

#[test]
fn an_event_longer_than_the_window_is_read_and_an_endless_one_refused() {
    let long = format!("[{}]", vec!["[8, 16]"; 200_000].join(", "));
    let event = format!(
        r#"{{"ph": "X", "cat": "cpu_op", "name": "a", "ts": 1, "dur": 1, "args": {{"Input Dims": {long}}}}}"#
    );
    let recording = read(trace(&[event, op("b", "2", "1")].join(","))).unwrap();
    assert_eq!(names(&recording), ["a", "b"]);

    let endless = std::io::Read::chain(
        &b"[{\"ph\": \"X\", \"name\": \""[..],
        std::io::Read::take(std::io::repeat(b'a'), 1 << 40),
    );
    let text = message(kineto::read("t.json", endless, &ReadOptions::default()));
    assert!(text.contains("more than 64 MiB"), "{text}");
}

mod any_bytes {
    use proptest::prelude::*;

    use super::*;

    fn sample() -> Vec<u8> {
        trace(
            r#"{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 1, "tid": 1, "ts": 1000.5, "dur": 500},
               {"ph": "X", "cat": "cpu_op", "name": "aten::mm\u00e9\ud83d\ude00", "pid": 1, "tid": "1", "ts": 1010.25, "dur": 4e1, "args": {"External id": 7, "Input Dims": [[2, 3], []], "Collective name": "x", "In split size": "[1]"}},
               {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1030.0, "dur": 22.5, "args": {"correlation": 71, "grid": [1, 2, 3]}}"#,
        )
        .into_bytes()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1500))]

        /// Bytes changed, put in and taken out anywhere: an answer or an error, no panic; and
        /// what is read has times that can be.
        #[test]
        fn never_panic(
            edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4u8), 1..8),
            allow_truncated in any::<bool>(),
        ) {
            let mut bytes = sample();
            for (index, byte, kind) in edits {
                let at = index.index(bytes.len());
                let byte = if kind == 3 { b"\"{}[],:\\eE.-0N"[usize::from(byte) % 14] } else { byte };
                match kind {
                    0 => { bytes.remove(at); }
                    1 => bytes.insert(at, byte),
                    _ => bytes[at] = byte,
                }
            }
            let options = ReadOptions { allow_truncated, ..ReadOptions::default() };
            if let Ok(recording) = kineto::read("t.json", &bytes[..], &options) {
                for event in &recording.events {
                    prop_assert!(event.duration.get() <= 1_000_000_000_000_000);
                    prop_assert!((event.track.0 as usize) < recording.tracks.len());
                }
            }
        }

        /// However few bytes a reader gives at a time, the same is read.
        #[test]
        fn pieces_make_no_difference(size in 1..64usize, copies in 1..40usize) {
            struct Pieces<'a>(&'a [u8], usize);
            impl std::io::Read for Pieces<'_> {
                fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                    let count = self.1.min(buffer.len()).min(self.0.len());
                    let (piece, rest) = self.0.split_at(count);
                    buffer[..count].copy_from_slice(piece);
                    self.0 = rest;
                    Ok(count)
                }
            }
            let text = trace(&vec![op("a\u{e9}\u{1}", "1.5", "2"); copies].join(", "));
            let whole = read(&text).unwrap();
            let options = ReadOptions::default();
            let pieces = kineto::read("t.json", Pieces(text.as_bytes(), size), &options).unwrap();
            prop_assert_eq!(&whole.events, &pieces.events);
            prop_assert_eq!(&whole.oddities, &pieces.oddities);
        }
    }
}
