//! Collectives of several processes, with a driver and an NCCL that stand in for NVIDIA's, and
//! what becomes of them when one rank fails.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use crate::ranks::{end, start, with_job, words};
use crate::stand_in::{command, folder, with_nccl};

/// Ranks end within this, whatever becomes of their collectives: their limits are shortened.
const LIMIT: Duration = Duration::from_secs(60);
const LINE: &str = "--device 0..7 --quick --max-time-per-point 2ms --ops collective --out a";

/// A folder with the stand-ins, and one that ranks exchange data through.
fn prepared(name: &str) -> PathBuf {
    let folder = folder(name);
    with_nccl(&folder);
    fs::create_dir_all(folder.join("exchange")).unwrap();
    folder
}

/// A rank whose GPUs have a MiB for operands.
fn rank(folder: &Path, line: &str, variables: &[(&str, &str)]) -> Command {
    let mut command = command(folder, "", line);
    command
        .env("KERNELGAUGE_FAKE_NCCL_FOLDER", folder.join("exchange"))
        .env("KERNELGAUGE_FAKE_MEMORY", "81")
        .envs(variables.iter().copied());
    command
}

/// Three ranks of one GPU each; how each ended.
fn three(folder: &Path, line: &str, variables: &[(&str, &str)]) -> Vec<Output> {
    let name = folder.file_name().unwrap().to_string_lossy().into_owned();
    let started = [0, 1, 2].map(|n| start(rank(folder, line, variables), with_job(n, &name)));
    let ended = started.map(|child| end(child, LIMIT));
    for (output, n) in ended.iter().zip(0..) {
        // Rank 0 says how it went.
        let fine = n == 0 || output.status.code() == Some(0);
        assert!(fine && words(output).find("panicked").is_none(), "rank {n}: {}", words(output));
    }
    ended.into()
}

/// The rows of collectives of so many ranks, as cells by the name of their column.
fn rows(folder: &Path, ranks: &str) -> Vec<impl Fn(&str) -> String + use<>> {
    let table = fs::read_to_string(folder.join("a/samples/collective.csv")).unwrap();
    let heading: Vec<String> =
        table.lines().next().unwrap().split(',').map(str::to_owned).collect();
    let rows = table.lines().skip(1).map(|line| {
        let (heading, cells) = (heading.clone(), line.to_owned());
        move |name: &str| {
            let at = heading.iter().position(|column| column == name).unwrap();
            cells.split(',').nth(at).unwrap_or_default().to_owned()
        }
    });
    rows.filter(|row| row("ranks") == ranks).collect()
}

/// How many of them were measured, and why the others failed.
fn outcome(rows: &[impl Fn(&str) -> String]) -> (usize, Vec<String>) {
    let with = |status: &'static str| rows.iter().filter(move |row| row("status") == status);
    (with("ok").count(), with("failed").map(|row| row("reason")).collect())
}

#[test]
fn a_collective_of_all_ranks_is_measured_by_all_of_them() {
    let folder = prepared("ranks-collective");
    let ended = three(&folder, &format!("{LINE} --budget 3s"), &[]);
    // The time given may end the first pass early, which rank 0 says.
    let code = ended[0].status.code();
    assert!([Some(0), Some(4)].contains(&code), "{}", words(&ended[0]));
    let rows = rows(&folder, "3");
    let (measured, failed) = outcome(&rows);
    assert!(measured > 10, "{measured} of {}", rows.len());
    assert!(failed.is_empty(), "{failed:?}");
    assert!(rows.iter().any(|row| row("kernel") == "ncclAllReduce 2.29.2 (in flight)"));
    assert!(rows.iter().any(|row| row("kernel").ends_with("(isolated)") && row("status") == "ok"));
    let manifest = fs::read_to_string(folder.join("a/samples/dataset.toml")).unwrap();
    assert!(manifest.contains("nccl = \"2.29.2\""), "{manifest}");
}

#[test]
fn a_collective_that_never_ends_on_one_rank_costs_one_point() {
    let folder = prepared("ranks-hang");
    let once = folder.join("once").display().to_string();
    let variables = [
        // Elements of what is neither the smallest nor the sentinel.
        ("KERNELGAUGE_FAKE_NCCL_COLLECTIVE", "hang:2046"),
        ("KERNELGAUGE_FAKE_ONCE", once.as_str()),
        ("KERNELGAUGE_COLLECTIVE_TIMEOUT", "1"),
    ];
    let ended = three(&folder, &format!("{LINE} --budget 4s"), &variables);
    let code = ended[0].status.code();
    assert!([Some(1), Some(4)].contains(&code), "{}", words(&ended[0]));
    let (measured, failed) = outcome(&rows(&folder, "3"));
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert!(failed[0].starts_with("timed_out: "), "{failed:?}");
    assert!(failed[0].ends_with("over 3 ranks did not end within 1 s"), "{failed:?}");
    assert!(measured > 5, "{measured}");
}

#[test]
fn ranks_that_cannot_join_anew_are_given_up_with_the_reason() {
    let folder = prepared("ranks-rejoin");
    let once = folder.join("once").display().to_string();
    let variables = [
        ("KERNELGAUGE_FAKE_NCCL_COLLECTIVE", "hang"),
        ("KERNELGAUGE_FAKE_ONCE", once.as_str()),
        ("KERNELGAUGE_FAKE_NCCL_INIT", "hang-later"),
        ("KERNELGAUGE_COLLECTIVE_TIMEOUT", "0.3"),
    ];
    let ended = three(&folder, LINE, &variables);
    assert_eq!(ended[0].status.code(), Some(1), "{}", words(&ended[0]));
    let rows = rows(&folder, "3");
    let (measured, failed) = outcome(&rows);
    // The collective that did not end was a reading of the sentinel.
    assert_eq!((measured, failed.len()), (0, 1), "{failed:?}");
    let forming = "forming a communicator of 3 ranks did not end within 1.8 s";
    assert!(failed[0].ends_with(forming), "{failed:?}");
    let given_up = "unsupported: the ranks cannot join: ";
    let skipped = rows.iter().filter(|row| row("reason").starts_with(given_up)).count();
    assert_eq!(skipped + failed.len(), rows.len());
}

#[test]
fn a_wrong_result_on_one_rank_is_a_failed_point_that_names_it() {
    let folder = prepared("ranks-wrong");
    let once = folder.join("once").display().to_string();
    let variables =
        [("KERNELGAUGE_FAKE_NCCL_COLLECTIVE", "wrong"), ("KERNELGAUGE_FAKE_ONCE", once.as_str())];
    let ended = three(&folder, &format!("{LINE} --budget 3s"), &variables);
    let code = ended[0].status.code();
    assert!([Some(1), Some(4)].contains(&code), "{}", words(&ended[0]));
    let (_, failed) = outcome(&rows(&folder, "3"));
    assert!(failed.len() > 3, "{failed:?}");
    let one = |rank: u32| failed.iter().all(|why| why.contains(&format!("of rank {rank} is not ")));
    assert_eq!([0, 1, 2].into_iter().filter(|rank| one(*rank)).count(), 1, "{failed:?}");
}

#[test]
fn two_nodes_are_rehearsed_on_one_and_their_collectives_measured() {
    let folder = prepared("ranks-nodes");
    let master = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let started = [0, 1].map(|n| {
        let devices = ["0,1", "2,3"][n];
        let line = LINE.replace("0..7", devices);
        let line = format!("{line} --rank {n} --ranks 2 --master {master} --budget 4s");
        let node = ["one", "two"][n];
        let variables = [("KERNELGAUGE_REHEARSED_NODE", node), ("KERNELGAUGE_TOKEN", "secret")];
        start(rank(&folder, &line, &variables), Vec::new())
    });
    let ended = started.map(|child| end(child, LIMIT));
    let code = ended[0].status.code();
    assert!([Some(0), Some(4)].contains(&code), "{}", words(&ended[0]));
    assert_eq!(ended[1].status.code(), Some(0), "{}", words(&ended[1]));
    for (ranks, nodes, links) in [("4", "2", "network"), ("2", "1", "nvswitch")] {
        let rows = rows(&folder, ranks);
        assert!(rows.iter().all(|row| row("nodes") == nodes && row("links") == links));
        let (measured, failed) = outcome(&rows);
        assert!(measured > 5 && failed.is_empty(), "{measured} of {ranks} ranks: {failed:?}");
    }
    let manifest = fs::read_to_string(folder.join("a/samples/dataset.toml")).unwrap();
    assert!(manifest.contains("name = \"synthetic-gpu-x2-n2\""), "{manifest}");
}
