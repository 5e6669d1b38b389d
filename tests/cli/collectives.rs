//! `calibrate --ops collective` on GPUs and an NCCL that stand in for NVIDIA's.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::command::Said;
use crate::stand_in::{calibrate_with, folder, suggestion_is_answered, with_nccl};

/// Memory of a GPU that leaves few MiB for operands: what is moved is moved for real.
const SMALL: (&str, &str) = ("KERNELGAUGE_FAKE_MEMORY", "81");
/// Less than a second for what never ends.
const SHORT: (&str, &str) = ("KERNELGAUGE_COLLECTIVE_TIMEOUT", "0.3");

fn has(text: &str, part: &str) {
    assert!(text.contains(part), "`{part}` is not in:\n{text}");
}

fn measure(folder: &Path, variables: &[(&str, &str)], line: &str) -> Said {
    let variables = [&[SMALL], variables].concat();
    let line = format!("{line} --quick --max-time-per-point 2ms --ops collective --out a");
    calibrate_with(folder, &variables, &line)
}

fn table(folder: &Path) -> String {
    fs::read_to_string(folder.join("a/samples/collective.csv")).unwrap()
}

/// The cells of a column, for rows that are measured.
fn column(table: &str, name: &str) -> Vec<String> {
    let heading: Vec<&str> = table.lines().next().unwrap().split(',').collect();
    let at = heading.iter().position(|column| *column == name).unwrap();
    table.lines().skip(1).map(|line| line.split(',').nth(at).unwrap().to_owned()).collect()
}

#[test]
fn collectives_of_two_gpus_are_verified_with_versions_and_links() {
    let folder = folder("collectives");
    with_nccl(&folder);
    let said = measure(&folder, &[], "--device 0,1");
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    suggestion_is_answered(&folder, &said);
    let table = table(&folder);
    for kernel in [
        "ncclAllReduce 2.29.2 (in flight)",
        "ncclAllReduce 2.29.2 (isolated)",
        "ncclAllGather 2.29.2 (in_place)",
        "ncclAlltoAll 2.29.2 (in flight)",
        "ncclSend and ncclRecv 2.29.2 (in flight)",
    ] {
        has(&table, kernel);
    }
    assert!(!table.contains("failed"), "{table}");
    let collectives = column(&table, "collective");
    for name in ["all_to_all_v", "gather", "scatter", "reduce_scatter", "broadcast", "send_recv"] {
        assert!(collectives.iter().any(|known| known == name), "{name}");
    }
    assert!(column(&table, "links").iter().all(|links| links == "nvswitch"));
    has(&table, ",imbalance,");
    let manifest = fs::read_to_string(folder.join("a/samples/dataset.toml")).unwrap();
    has(&manifest, "nccl = \"2.29.2\"");
    has(&manifest, "links = \"nvswitch\"");
    has(&manifest, "gpu_links = \"every pair by nvswitch\"");
    // NCCL's own table is kept, and nothing else of its log.
    let tuning = fs::read_to_string(folder.join("a/nccl_tuning.csv")).unwrap();
    has(&tuning, "AllReduce,Ring,Simple,19,");
    let report = fs::read_to_string(folder.join("a/report.md")).unwrap();
    has(&report, "nccl_tuning.csv");
    for text in [&tuning, &report, &manifest, &table] {
        assert!(!text.contains("somehost") && !text.contains("192.0.2"), "{text}");
    }
    let left = fs::read_dir(&folder).unwrap().filter_map(|entry| entry.ok());
    let logs = left.filter(|entry| entry.file_name().to_string_lossy().contains("gauge-nccl"));
    assert_eq!(logs.count(), 0);
}

#[test]
fn gpus_without_direct_links_are_said_to_have_none() {
    let folder = folder("collectives-pcie");
    with_nccl(&folder);
    let said = measure(&folder, &[("KERNELGAUGE_FAKE_LINKS", "pcie")], "--device 0..2 --budget 1s");
    assert!([0, 4].contains(&said.code), "{}", said.stderr);
    assert!(column(&table(&folder), "links").iter().all(|links| links == "pcie"));
}

#[test]
fn a_machine_without_nccl_skips_them_with_the_reason() {
    let folder = folder("collectives-none");
    let said = measure(&folder, &[], "--device 0,1");
    assert_eq!(said.code, 1, "{}", said.stderr);
    let table = table(&folder);
    let skipped = column(&table, "status").iter().all(|status| status == "skipped");
    assert!(skipped, "{table}");
    has(&table, "NCCL was not found");
    has(&said.stderr, "skipped: collectives: NCCL was not found");
    assert!(!said.stderr.contains("import a table"), "{}", said.stderr);
}

#[test]
fn collectives_that_never_end_cost_their_points() {
    let folder = folder("collectives-hang");
    with_nccl(&folder);
    let began = Instant::now();
    let hang = ("KERNELGAUGE_FAKE_NCCL_COLLECTIVE", "hang:262144");
    let said = measure(&folder, &[SHORT, hang], "--device 0,1");
    assert_eq!(said.code, 1, "{}", said.stderr);
    let table = table(&folder);
    let failed: Vec<&str> = table.lines().filter(|line| line.contains(",failed,")).collect();
    // All-reduce and reduce of 256 Ki int8 are the ones with so many elements.
    assert_eq!(failed.len(), 2, "{failed:?}");
    has(failed[0], "all_reduce of 262144 bytes over 2 ranks did not end within 0.3 s");
    has(failed[1], "reduce of 262144 bytes over 2 ranks did not end within 0.3 s");
    assert!(began.elapsed() < Duration::from_secs(30));
}

#[test]
fn if_none_ever_ends_the_rest_is_not_waited_for() {
    let folder = folder("collectives-hopeless");
    with_nccl(&folder);
    let began = Instant::now();
    let hang = ("KERNELGAUGE_FAKE_NCCL_COLLECTIVE", "hang");
    let said = measure(&folder, &[SHORT, hang], "--device 0,1");
    assert_eq!(said.code, 1, "{}", said.stderr);
    let table = table(&folder);
    // Readings of the sentinel may be among the three.
    assert!(table.matches(",failed,timed_out: ").count() <= 3, "{table}");
    has(&table, "3 times in a row");
    assert!(began.elapsed() < Duration::from_secs(30));
}

#[test]
fn an_init_that_never_returns_is_tried_twice_and_then_given_up() {
    let folder = folder("collectives-init");
    with_nccl(&folder);
    let began = Instant::now();
    let short = ("KERNELGAUGE_COLLECTIVE_TIMEOUT", "0.05");
    let hang = [short, ("KERNELGAUGE_FAKE_NCCL_INIT", "hang")];
    let said = measure(&folder, &hang, "--device 0,1");
    assert_eq!(said.code, 1, "{}", said.stderr);
    has(&table(&folder), "forming a communicator of 2 ranks did not end within 0.3 s");
    // What is tried again and fails again is not missing.
    let said = measure(&folder, &hang, "--device 0,1 --retry-failed");
    assert_eq!(said.code, 1, "{}", said.stderr);
    assert!(!said.stderr.contains("missing"), "{}", said.stderr);
    assert!(began.elapsed() < Duration::from_secs(30));
}

#[test]
fn a_wrong_result_is_a_failed_point() {
    let folder = folder("collectives-wrong");
    with_nccl(&folder);
    let wrong = ("KERNELGAUGE_FAKE_NCCL_COLLECTIVE", "wrong");
    let said = measure(&folder, &[wrong], "--device 0,1");
    assert_eq!(said.code, 1, "{}", said.stderr);
    has(&table(&folder), "element 0 of rank ");
}
