//! What NCCL says of its own choices: which latency and bandwidth it gives each algorithm with
//! each protocol, the table by which it chooses.
//!
//! NCCL writes the table when it forms a communicator, to the file that `NCCL_DEBUG_FILE` names.
//! It is read, the figures are kept, and the file is removed at once: beside the table it holds
//! names of hosts and addresses. Then NCCL is told to be silent again, because it would write a
//! line for every collective (`enqueue.cc`), and that would be timed too. Where the user has set any of the
//! variables they are left as they are, and there is no table.

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;

use crate::nccl::Library;

/// The variables, with what they are set to; the file's is last.
const LEVEL: (&str, &str) = ("NCCL_DEBUG", "INFO");
const SUBSYSTEMS: (&str, &str) = ("NCCL_DEBUG_SUBSYS", "TUNING");
const FILE: &str = "NCCL_DEBUG_FILE";
/// Longest log that is read.
const LONGEST: u64 = 4 << 20;
/// Most rows that are kept.
const MOST_ROWS: usize = 512;
/// The functions and algorithms the table may speak of: no other word of the log is passed on.
const FUNCTIONS: [&str; 5] = ["Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce"];
const ALGORITHMS: [&str; 7] =
    ["Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"];
const PROTOCOLS: [&str; 3] = ["LL", "LL128", "Simple"];

/// One cell of the table.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    function: &'static str,
    algorithm: &'static str,
    protocol: &'static str,
    latency_us: f64,
    gb_s: f64,
}

/// The log under way, and what was read of it.
#[derive(Debug)]
pub struct Tuning {
    folder: PathBuf,
    rows: Vec<Row>,
    read: bool,
}

impl Tuning {
    /// Asks NCCL, before it is loaded, to write its table; none where the user has asked it for
    /// something else.
    pub fn ask() -> Option<Self> {
        let set = |name: &str| std::env::var_os(name).is_some();
        if set(LEVEL.0) || set(SUBSYSTEMS.0) || set(FILE) {
            return None;
        }
        let name = format!("kernelgauge-nccl-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::DirBuilder::new().mode(0o700).create(&folder).ok()?;
        // SAFETY: called when a device is opened, before any library of NVIDIA is loaded and
        // before this program starts a thread, so that nobody else reads or writes the
        // environment.
        unsafe {
            std::env::set_var(LEVEL.0, LEVEL.1);
            std::env::set_var(SUBSYSTEMS.0, SUBSYSTEMS.1);
            std::env::set_var(FILE, folder.join("log"));
        }
        Some(Tuning { folder, rows: Vec::new(), read: false })
    }

    /// Reads what NCCL wrote for the first communicator, removes it, and has NCCL be silent.
    pub fn read(&mut self, library: &Library) {
        if self.read {
            return;
        }
        self.read = true;
        let path = self.folder.join("log");
        let short = fs::metadata(&path).is_ok_and(|facts| facts.len() <= LONGEST);
        if short && let Ok(bytes) = fs::read(&path) {
            self.rows = table(&String::from_utf8_lossy(&bytes));
        }
        library.be_silent();
        let _ = fs::remove_dir_all(&self.folder);
    }

    /// The table as CSV; none where NCCL wrote none.
    pub fn table(&self) -> Option<String> {
        if self.rows.is_empty() {
            return None;
        }
        let mut text = "function,algorithm,protocol,latency_us,bandwidth_gb_s\n".to_owned();
        for Row { function, algorithm, protocol, latency_us, gb_s, .. } in &self.rows {
            text.push_str(&format!("{function},{algorithm},{protocol},{latency_us},{gb_s}\n"));
        }
        Some(text)
    }
}

impl Drop for Tuning {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The cells of the table in `text`. Since 2.19 the algorithms stand in one line and the protocols
/// in the next, three algorithms at a time; before that one line had both as `Ring/Simple`.
fn table(text: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut algorithms: Vec<&'static str> = Vec::new();
    let mut columns: Vec<Option<(&'static str, &'static str)>> = Vec::new();
    for line in text.lines() {
        let line = line.split_once("NCCL INFO").map_or(line, |(_, line)| line);
        let mut cells = line.split('|').map(str::trim);
        let heading = cells.next().unwrap_or_default();
        let cells: Vec<&str> = cells.filter(|cell| !cell.is_empty()).collect();
        match heading {
            "Algorithm" => {
                algorithms = cells.iter().map(|c| known(&ALGORITHMS, c).unwrap_or("")).collect();
            }
            "Protocol" => {
                let column = |(at, cell): (usize, &&str)| {
                    let algorithm = algorithms.get(at / PROTOCOLS.len()).copied();
                    algorithm.filter(|a| !a.is_empty()).zip(known(&PROTOCOLS, cell))
                };
                columns = cells.iter().enumerate().map(column).collect();
            }
            "Latency/AlgBw" => {
                let column = |cell: &&str| {
                    let (algorithm, protocol) = cell.split_once('/')?;
                    known(&ALGORITHMS, algorithm.trim()).zip(known(&PROTOCOLS, protocol.trim()))
                };
                columns = cells.iter().map(column).collect();
            }
            _ => {
                let Some(function) = known(&FUNCTIONS, heading) else { continue };
                for (column, cell) in columns.iter().zip(&cells) {
                    let (Some((algorithm, protocol)), Some((latency_us, gb_s))) =
                        (column, figures(cell))
                    else {
                        continue;
                    };
                    // NCCL gives no bandwidth to what it does not use.
                    if gb_s > 0.0 && rows.len() < MOST_ROWS {
                        rows.push(Row { function, algorithm, protocol, latency_us, gb_s });
                    }
                }
            }
        }
    }
    rows
}

fn known(words: &[&'static str], text: &str) -> Option<&'static str> {
    words.iter().copied().find(|word| *word == text)
}

/// `  6.6/  10.0`
fn figures(cell: &str) -> Option<(f64, f64)> {
    let (latency, bandwidth) = cell.split_once('/')?;
    let figure = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    figure(latency).zip(figure(bandwidth))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: &str = "\
somehost:1:2 [0] NCCL INFO Bootstrap : Using eth0:192.0.2.7<0>
somehost:1:2 [0] NCCL INFO   Algorithm   |                Tree                  |                Ring                  |           CollNetDirect              |
somehost:1:2 [0] NCCL INFO   Protocol    |     LL |   LL128 |   Simple |     LL |   LL128 |   Simple |     LL |   LL128 |   Simple |
somehost:1:2 [0] NCCL INFO  Max NThreads |    512 |     640 |      512 |    512 |     640 |      512 |      0 |       0 |      640 |
somehost:1:2 [0] NCCL INFO     AllReduce |  6.7/  8.1 | 16.0/ 22.0 | 90.0/ 30.0 |  6.6/ 10.0 | 16.1/  0.0 | 19.0/ 50.5 | 0.0/ 0.0 | 0.0/ 0.0 | 0.0/ 0.0 |
";
    const OLD: &str = "\
h:1:2 [0] NCCL INFO Latency/AlgBw |    Tree/    LL |    Tree/ LL128 |    Ring/Simple |
h:1:2 [0] NCCL INFO     Broadcast |    0.0/   0.0 |    5.1/   2.5 |    7.0/  21.5 |
";

    #[test]
    fn both_layouts_are_read_and_nothing_else_of_the_log_is_kept() {
        let rows = table(NEW);
        let of = |row: &Row| (row.algorithm, row.protocol, row.latency_us, row.gb_s);
        assert_eq!(rows.len(), 5);
        assert_eq!(of(&rows[0]), ("Tree", "LL", 6.7, 8.1));
        assert_eq!(of(&rows[4]), ("Ring", "Simple", 19.0, 50.5));
        let rows = table(OLD);
        assert_eq!(
            rows.iter().map(of).collect::<Vec<_>>(),
            [("Tree", "LL128", 5.1, 2.5), ("Ring", "Simple", 7.0, 21.5)]
        );
        let tuning = Tuning { folder: PathBuf::new(), rows: table(NEW), read: true };
        let text = tuning.table().unwrap();
        assert!(!text.contains("somehost") && !text.contains("192.0"), "{text}");
        std::mem::forget(tuning);
    }

    #[test]
    fn damaged_logs_give_what_they_have() {
        for text in
            ["", "|||", "AllReduce | 1/2 |", "Protocol | LL |\nAllReduce | 1/2", "\0\u{fffd}|"]
        {
            assert!(table(text).is_empty(), "{text}");
        }
    }
}
