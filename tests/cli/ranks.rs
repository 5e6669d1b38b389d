//! Several processes measure together, started as each launcher starts them, on the driver that
//! stands in for NVIDIA's.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::stand_in::{command, folder};

const LINE: &str = "--device 0..7 --quick --ops copy --samples 1 --out a --join-within 10s";

/// The environment of rank `rank` of three on one node, as a launcher sets it.
type Launcher = fn(u32) -> Vec<(&'static str, String)>;

fn torchrun(rank: u32) -> Vec<(&'static str, String)> {
    vec![
        ("RANK", rank.to_string()),
        ("WORLD_SIZE", "3".to_owned()),
        ("LOCAL_RANK", rank.to_string()),
        ("LOCAL_WORLD_SIZE", "3".to_owned()),
        ("MASTER_ADDR", "127.0.0.1".to_owned()),
        ("MASTER_PORT", "17500".to_owned()),
        ("TORCHELASTIC_RUN_ID", "none".to_owned()),
    ]
}

fn open_mpi(rank: u32) -> Vec<(&'static str, String)> {
    vec![
        ("OMPI_COMM_WORLD_RANK", rank.to_string()),
        ("OMPI_COMM_WORLD_SIZE", "3".to_owned()),
        ("OMPI_COMM_WORLD_LOCAL_RANK", rank.to_string()),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", "3".to_owned()),
        ("PMIX_NAMESPACE", format!("prterun-{}", std::process::id())),
    ]
}

fn slurm(rank: u32) -> Vec<(&'static str, String)> {
    vec![
        ("SLURM_PROCID", rank.to_string()),
        ("SLURM_STEP_NUM_TASKS", "3".to_owned()),
        ("SLURM_LOCALID", rank.to_string()),
        ("SLURM_STEP_TASKS_PER_NODE", "3".to_owned()),
        ("SLURM_NODEID", "0".to_owned()),
        ("SLURM_JOB_ID", std::process::id().to_string()),
        ("SLURM_STEP_ID", "0".to_owned()),
    ]
}

/// Starts it with these variables.
pub fn start(mut command: Command, variables: Vec<(&'static str, String)>) -> Child {
    let command = command.envs(variables).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// How a process ended; it must do so within `limit`.
pub fn end(mut child: Child, limit: Duration) -> Output {
    let until = Instant::now() + limit;
    while child.try_wait().unwrap().is_none() {
        let late = Instant::now() > until;
        if late {
            child.kill().unwrap();
        }
        assert!(!late, "a rank does not end: {:?}", child.wait_with_output());
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().unwrap()
}

/// What it said beside its output.
pub fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn ranks(folder: &Path, line: &str, launcher: Launcher, which: &[u32]) -> Vec<Child> {
    which.iter().map(|rank| start(command(folder, "", line), launcher(*rank))).collect()
}

#[test]
fn ranks_of_every_launcher_measure_as_one_machine() {
    for (name, launcher) in
        [("torchrun", torchrun as Launcher), ("open-mpi", open_mpi), ("slurm", slurm)]
    {
        let folder = folder(name);
        let ended: Vec<Output> = ranks(&folder, LINE, launcher, &[2, 0, 1])
            .into_iter()
            .map(|child| end(child, Duration::from_secs(30)))
            .collect();
        for (output, rank) in ended.iter().zip([2, 0, 1]) {
            assert_eq!(output.status.code(), Some(0), "{name}, rank {rank}: {}", words(output));
            // Only rank 0 says anything.
            assert_eq!(output.stdout.is_empty() && output.stderr.is_empty(), rank != 0, "{name}");
        }
        let manifest = fs::read_to_string(folder.join("a/samples/dataset.toml")).unwrap();
        assert!(manifest.contains("name = \"synthetic-gpu-x3\""), "{name}: {manifest}");
        assert!(manifest.contains("processes = \"3\""), "{name}: {manifest}");
        // Each process had a GPU of its own.
        let locks = fs::read_dir(&folder).unwrap().filter(|entry| {
            let name = entry.as_ref().unwrap().file_name();
            name.to_string_lossy().starts_with("kernelgauge-gpu-")
        });
        assert_eq!(locks.count(), 3, "{name}");
    }
}

#[test]
fn a_rank_that_is_killed_ends_all_others_and_keeps_the_journal() {
    // Rank 0 is the one that keeps the journal; the others learn of its end as well.
    for (name, victim) in [("rank-killed", 2), ("rank-0-killed", 0)] {
        let folder = folder(name);
        let line = "--device 0..7 --ops copy --out a --join-within 10s";
        let mut children = ranks(&folder, line, open_mpi_of(name), &[0, 1, 2]);
        let journal = folder.join("a/journal.jsonl");
        let points = || fs::read_to_string(&journal).map_or(0, |text| text.lines().count());
        let until = Instant::now() + Duration::from_secs(20);
        while points() < 5 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        let mut killed = children.remove(victim);
        killed.kill().unwrap();
        killed.wait().unwrap();
        for child in children {
            let output = end(child, Duration::from_secs(10));
            assert_eq!(output.status.code(), Some(3), "{name}: {}", words(&output));
            let words = words(&output);
            let says = ["rank 2 is gone", "rank 0 ended before the run was over"];
            assert!(says.iter().any(|says| words.contains(says)), "{name}: {words}");
            assert!(words.contains("\nhint: ") || words.contains("hint: "), "{name}: {words}");
        }
        let text = fs::read_to_string(&journal).unwrap();
        assert!(text.ends_with('\n'), "{name}");
        // All of it can be read: the run goes on.
        let line = format!("{line} --budget 1s --retry-failed");
        let again: Vec<Output> = ranks(&folder, &line, open_mpi_of(name), &[0, 1, 2])
            .into_iter()
            .map(|child| end(child, Duration::from_secs(30)))
            .collect();
        assert!(words(&again[0]).starts_with("continuing the run"), "{}", words(&again[0]));
    }
}

/// Open MPI's environment, of a job of its own for each test.
fn open_mpi_of(name: &str) -> Launcher {
    match name {
        "rank-killed" => |rank| with_job(rank, "killed"),
        "rank-0-killed" => |rank| with_job(rank, "killed-0"),
        "wrong-token" => |rank| with_job(rank, "token"),
        _ => |rank| with_job(rank, "missing"),
    }
}

/// Open MPI's environment of rank `rank` of three, of the job `job` of this test.
pub fn with_job(rank: u32, job: &str) -> Vec<(&'static str, String)> {
    let mut variables = open_mpi(rank);
    variables.push(("PMIX_NAMESPACE", format!("{job}-{}", std::process::id())));
    variables
}

#[test]
fn a_wrong_token_is_refused_and_a_missing_rank_named() {
    let folder = folder("wrong-token");
    let line = "--device 0..7 --quick --ops memory --out a --join-within 1s";
    let launcher = open_mpi_of("wrong-token");
    let mut children = ranks(&folder, line, launcher, &[0, 1]);
    let mut other = launcher(2);
    other.push(("KERNELGAUGE_TOKEN", "an-other-secret".to_owned()));
    children.push(start(command(&folder, "", line), other));
    let ended: Vec<Output> =
        children.into_iter().map(|child| end(child, Duration::from_secs(15))).collect();
    let missing = "rank 2 of 3 did not come within 1 s; one connection without the right token was \
                   refused";
    for (output, says) in ended.iter().zip([
        format!("error: {missing}\n"),
        format!("error: rank 0 says: {missing}\n"),
        "error: rank 0 says: its token is not that of rank 0, or it is of another \
         job\n"
            .to_owned(),
    ]) {
        assert_eq!(output.status.code(), Some(3), "{}", words(output));
        assert!(words(output).starts_with(&says), "{}", words(output));
        assert_eq!(words(output).lines().count(), 2, "{}", words(output));
        assert!(!words(output).contains("secret"), "{}", words(output));
    }
    assert!(!folder.join("a").exists());
}

#[test]
fn ranks_by_hand_need_an_address_and_a_token() {
    let folder = folder("ranks-by-hand");
    let said = |line: &str| {
        let output = end(start(command(&folder, "", line), Vec::new()), Duration::from_secs(10));
        (output.status.code(), words(&output))
    };
    let (code, stderr) = said("--device 0 --rank 0 --ranks 2");
    assert_eq!(code, Some(2));
    assert!(stderr.starts_with("error: --rank needs the address of rank 0\nhint: "), "{stderr}");
    let (code, stderr) = said("--device 0 --rank 0 --ranks 2 --master 127.0.0.1:1");
    assert_eq!(code, Some(2));
    assert!(stderr.contains("KERNELGAUGE_TOKEN"), "{stderr}");
    let (code, stderr) = said("--device 0 --rank 0");
    assert_eq!(code, Some(2));
    assert!(stderr.contains("--ranks"), "{stderr}");
    // A processor is measured by one process.
    let (code, stderr) = said("--device cpu --plan --rank 0 --ranks 2");
    assert_eq!(code, Some(2));
    assert!(stderr.contains("--rank has no effect on `--device cpu`"), "{stderr}");
}
