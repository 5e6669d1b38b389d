//! The lines around a table: run parameters, rank list, versions, closing lines.
//!
//! Every reader finds its line by content, so prefixes of launchers do not matter. Host names
//! are seen here, to count nodes, and go no further than [`RankLine`].

use super::tokens::tokens;
use crate::point::Collective;

/// The line `# nThread 1 nGpus 8 minBytes 8 ...` that opens every run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Preamble {
    /// Devices of one process: threads times devices of a thread.
    pub devices: u64,
    /// Difference between sizes, where sizes grow by addition.
    pub step_bytes: Option<u64>,
    /// Calls behind one time.
    pub iterations: u32,
}

/// Reads a preamble.
pub(super) fn preamble(line: &str) -> Option<Preamble> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let after = |name: &str| {
        let at = words.iter().position(|word| *word == name)?;
        words.get(at + 1)
    };
    let threads: u64 = after("nThread")?.parse().ok()?;
    let gpus: u64 = after("nGpus")?.parse().ok()?;
    let count = |text: Option<&&str>| text.and_then(|text| text.parse::<u32>().ok());
    let step = after("step:").and_then(|text| text.strip_suffix("(bytes)")?.parse().ok());
    // `warmup iters: 5 iters: 20 agg iters: 1`: the plain one is the second.
    let mut iters = words.windows(2).filter(|pair| pair[0] == "iters:").map(|pair| pair[1]);
    let plain = count(iters.nth(1).as_ref()).unwrap_or(0);
    let aggregated = count(iters.next().as_ref()).unwrap_or(1);
    Some(Preamble {
        devices: threads.saturating_mul(gpus),
        step_bytes: step,
        iterations: plain.saturating_mul(aggregated.max(1)),
    })
}

/// A line of the rank list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RankLine<'a> {
    /// The rank.
    pub rank: u64,
    /// The host, to be counted and forgotten.
    pub host: &'a str,
    /// The device's own name.
    pub device: &'a str,
}

/// Reads `Rank 0 [Group 0] [Pid 42] on host device 0 [0x10] name`.
pub(super) fn rank_line(line: &str) -> Option<RankLine<'_>> {
    let words = tokens(line);
    let rank_at = words.iter().position(|word| word.text.trim_start_matches('#') == "Rank")?;
    let rank: u64 = words.get(rank_at + 1)?.text.parse().ok()?;
    let on_at = words.iter().skip(rank_at).position(|word| word.text == "on")? + rank_at;
    let host = words.get(on_at + 1)?.text;
    let device_at = words.get(on_at + 2).filter(|word| word.text == "device")?;
    let address = line[device_at.end()..].find(']').map(|at| device_at.end() + at + 1)?;
    Some(RankLine { rank, host, device: line[address..].trim() })
}

/// A program of nccl-tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Program {
    /// It measures this collective.
    Of(Collective),
    /// It measures something else (`hypercube`).
    Other(String),
}

/// The program a line names: `Collective test starting: all_reduce_perf`, or a command line
/// with a word such as `./build/all_gather_perf`.
pub(super) fn named_program(line: &str) -> Option<Program> {
    if line.contains("concluded") {
        return None;
    }
    line.split_whitespace().find_map(program)
}

/// The program a word names, such as `./build/all_reduce_perf_mpi`.
pub(super) fn program(word: &str) -> Option<Program> {
    let (path, suffix) = word.rsplit_once("_perf")?;
    let name = path.rsplit(['/', '\\', '=', '"', '\'', '`']).next()?;
    match name.parse() {
        Ok(collective) => Some(Program::Of(collective)),
        Err(_) if name.is_empty() || !matches!(suffix, "" | "_mpi") => None,
        Err(_) => Some(Program::Other(name.to_owned())),
    }
}

/// The collective a file name holds as a word of its own: `h100_all-reduce_n8.txt`.
pub(super) fn file_collective(stem: &str) -> Option<Collective> {
    /// `all_to_all_v` is four words.
    const MOST_WORDS: usize = 4;
    let words: Vec<&str> =
        stem.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    (1..=MOST_WORDS).rev().find_map(|length| {
        words.windows(length).find_map(|words| {
            // Digits are no part of a name, and the parser would skip them.
            let letters = words.iter().all(|w| w.bytes().all(|b| b.is_ascii_alphabetic()));
            if letters { words.concat().parse().ok() } else { None }
        })
    })
}

/// The version behind `NCCL version ` or `RCCL version : `, with the library's name.
pub(super) fn library_version(line: &str) -> Option<(&'static str, String)> {
    for (mark, library) in [("RCCL version", "rccl"), ("NCCL version", "nccl")] {
        let Some(at) = line.find(mark) else { continue };
        let rest = line[at + mark.len()..].trim_start_matches([' ', ':']);
        let version = rest.split(|c: char| !c.is_ascii_digit() && c != '.').next()?;
        if version.contains('.') {
            return Some((library, version.to_owned()));
        }
    }
    let at = line.find("compiled with NCCL ")?;
    let version = line[at..].split_whitespace().nth(3)?;
    Some(("nccl", version.to_owned()))
}

/// The versions of `# nccl-tests version 2.17.6 nccl-headers=22807 nccl-library=22807`: of the
/// tests, and of the library that ran.
pub(super) fn tests_version(line: &str) -> Option<(String, Option<String>)> {
    let at = line.find("nccl-tests version ")?;
    let mut words = line[at..].split_whitespace().skip(2);
    let tests = words.next()?.to_owned();
    let library = words
        .find_map(|word| word.strip_prefix("nccl-library="))
        .and_then(|code| code.parse().ok())
        .and_then(decode_version);
    Some((tests, library))
}

/// `22807` is 2.28.7; to 2.8 the code was `2804` for 2.8.4 (`NCCL_VERSION` of nccl.h).
pub(super) fn decode_version(code: u32) -> Option<String> {
    let (major, minor, patch) = match code {
        0..2000 => return None,
        2000..10_000 => (code / 1000, code % 1000 / 100, code % 100),
        _ => (code / 10_000, code % 10_000 / 100, code % 100),
    };
    Some(format!("{major}.{minor}.{patch}"))
}

/// The number behind the word `name`, as in `nRanks 08`.
pub(super) fn number_after(line: &str, name: &str) -> Option<u64> {
    let at = line.find(name)?;
    line[at + name.len()..].split_whitespace().next()?.parse().ok()
}

/// The count of `# Out of bounds values : 4 FAILED`.
pub(super) fn out_of_bounds(line: &str) -> Option<u64> {
    let at = line.find("Out of bounds values")?;
    line[at..].split(':').nth(1)?.split_whitespace().next()?.parse().ok()
}

/// What failed, from `host: Test CUDA failure common.cu:1304 'busy or unavailable'`, without
/// the host.
pub(super) fn failure(line: &str) -> Option<&str> {
    let at = line.find("Test ")?;
    let rest = &line[at..];
    rest.split_whitespace().take(3).any(|word| word == "failure").then_some(rest.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preambles_of_every_age_are_read() {
        let line = "0: # nThread 2 nGpus 4 minBytes 8 maxBytes 16 step: 4096(bytes) warmup iters: \
                    5 iters: 20 agg iters: 3 validation: 1 graph: 0 unalign: 0";
        let expected = Preamble { devices: 8, step_bytes: Some(4096), iterations: 60 };
        assert_eq!(preamble(line), Some(expected));
        let old = "# nThread 1 nGpus 8 minBytes 1 maxBytes 8 step: 2(factor) warmup iters: 5 \
                   iters: 20 validation: 0";
        let expected = Preamble { devices: 8, step_bytes: None, iterations: 20 };
        assert_eq!(preamble(old), Some(expected));
        assert_eq!(preamble("# nThread x nGpus 2"), None);
    }

    #[test]
    fn rank_lists_of_every_age_are_read() {
        for line in [
            "#  Rank  7 Group  0 Pid   4242 on     node-a device  3 [0x13] Some GPU 80GB",
            "[1,0]<stdout>:#   Rank  7 Pid   1000 on localhost device  3 [0000:01:00] Some GPU 80GB",
            "#   Rank  7 on      host0 device  0 [0x05] Some GPU 80GB",
        ] {
            let found = rank_line(line).unwrap();
            assert_eq!((found.rank, found.device), (7, "Some GPU 80GB"), "{line}");
        }
        assert_eq!(rank_line("comm 0x1 Rank 3 on"), None);
    }

    #[test]
    fn collectives_are_named_by_programs_and_files() {
        for (line, expected) in [
            (
                "+ srun -n 8 ./build/reduce_scatter_perf_mpi -b 8",
                Some(Program::Of(Collective::ReduceScatter)),
            ),
            ("# Collective test starting: alltoall_perf", Some(Program::Of(Collective::AllToAll))),
            ("$ ./build/hypercube_perf", Some(Program::Other("hypercube".to_owned()))),
            ("# Collective test concluded: alltoall_perf", None),
            ("writing to gpu_perf.log", None),
        ] {
            assert_eq!(named_program(line), expected, "{line}");
        }
        assert_eq!(file_collective("h100-all-reduce-n8"), Some(Collective::AllReduce));
        assert_eq!(file_collective("r6_broadcast_root"), Some(Collective::Broadcast));
        assert_eq!(file_collective("reduced_log"), None);
        assert_eq!(file_collective("n01_debug_lines"), None);
    }

    #[test]
    fn versions_lose_their_suffix() {
        let version = |line| library_version(line).map(|(_, version)| version);
        assert_eq!(version("x NCCL version 2.22.3+cuda12.6"), Some("2.22.3".to_owned()));
        assert_eq!(version("# NCCL Tests compiled with NCCL 2.4"), Some("2.4".to_owned()));
        assert_eq!(decode_version(21605), Some("2.16.5".to_owned()));
        assert_eq!(decode_version(2804), Some("2.8.4".to_owned()));
        let (tests, library) =
            tests_version("# nccl-tests version 2.20.0 (abc) nccl-headers=1 nccl-library=23007")
                .unwrap();
        assert_eq!((tests.as_str(), library.as_deref()), ("2.20.0", Some("2.30.7")));
    }

    #[test]
    fn failures_leave_the_host_behind() {
        let line = " .. host0 pid 1000: Test failure common.cu:1189";
        assert_eq!(failure(line), Some("Test failure common.cu:1189"));
        assert_eq!(failure("# Collective Test starting"), None);
        assert_eq!(out_of_bounds("# Out of bounds values : 4 FAILED"), Some(4));
    }
}
