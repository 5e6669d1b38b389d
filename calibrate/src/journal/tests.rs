//! Journals that were torn at every byte, altered, or belong to another run.

use kernelgauge_data::{
    Conditions, Dtype, Environment, Failure, Flags, GemmLayout, GemmPoint, Measurement, Nanos,
    Outcome, Point, Record, SkipReason,
};

use super::*;

/// A folder of this test alone, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let unique = format!("kernelgauge-journal-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(unique);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn journal(&self) -> PathBuf {
        self.0.join(FILE_NAME)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn header() -> Header {
    let mut environment = Environment::default();
    environment.set("threads", "2");
    Header {
        format_version: FORMAT_VERSION,
        tool_version: "0.1.0".to_owned(),
        machine: "host-x86-64".to_owned(),
        plan: "0123456789abcdef".to_owned(),
        seed: 7,
        samples: None,
        started_utc: "2026-11-30T10:26:00Z".to_owned(),
        environment,
    }
}

fn entries() -> Vec<Entry> {
    let point = |m| {
        Point::Gemm(GemmPoint {
            dtype: Dtype::F32,
            batch: 1,
            m,
            n: 64,
            k: 64,
            layout: GemmLayout::Unstated,
        })
    };
    let entry = |index, outcome| Entry::Point {
        index,
        record: Record {
            point: point(index as u64 + 1),
            conditions: Conditions::default(),
            outcome,
            flags: Flags::NONE,
        },
    };
    vec![
        entry(4, Outcome::Measured(Measurement::stated(Nanos::new(168_069)))),
        Entry::Sentinel { index: 9, time: Nanos::new(1_234) },
        entry(0, Outcome::Skipped(SkipReason::Unsupported("no \"f8\",\nreally".to_owned()))),
        entry(2, Outcome::Failed(Failure::BelowTimerResolution)),
        entry(2, Outcome::Measured(Measurement::stated(Nanos::new(17)))),
    ]
}

fn write(folder: &Folder) -> Vec<u8> {
    let mut opened = Journal::open(&folder.0, header(), false).unwrap();
    for entry in entries() {
        opened.journal.append(&entry).unwrap();
    }
    fs::read(folder.journal()).unwrap()
}

#[test]
fn entries_read_back_and_the_last_of_a_point_counts() {
    let folder = Folder::new("round-trip");
    write(&folder);
    let contents = Contents::read(&folder.journal()).unwrap().unwrap();
    assert_eq!(contents.header, header());
    assert_eq!(contents.entries, entries());
    assert!(!contents.torn);
    let records = contents.records();
    assert_eq!(records.keys().copied().collect::<Vec<_>>(), [0, 2, 4]);
    assert_eq!(records[&2].time(), Some(Nanos::new(17)));
}

#[test]
fn cut_at_any_byte_it_loses_at_most_the_torn_line() {
    let folder = Folder::new("cut");
    let bytes = write(&folder);
    let lines_within = |length: usize| bytes[..length].iter().filter(|b| **b == b'\n').count();
    for length in 0..=bytes.len() {
        fs::write(folder.journal(), &bytes[..length]).unwrap();
        let mut opened = Journal::open(&folder.0, header(), false).unwrap();
        let whole = lines_within(length).saturating_sub(1);
        assert_eq!(opened.contents.entries, entries()[..whole], "cut at {length}");
        // What comes after the resume must be as readable as what came before.
        let next = Entry::Sentinel { index: 1, time: Nanos::new(5) };
        opened.journal.append(&next).unwrap();
        let contents = Contents::read(&folder.journal()).unwrap().unwrap();
        assert_eq!(contents.entries.len(), whole + 1, "cut at {length}");
        assert_eq!(contents.entries.last(), Some(&next));
        assert!(!contents.torn);
    }
}

#[test]
fn a_line_altered_before_the_end_is_damage_with_its_number() {
    let folder = Folder::new("altered");
    let bytes = write(&folder);
    let text = String::from_utf8(bytes).unwrap();
    let altered = text.replacen("168.069", "168.068", 1);
    assert_ne!(altered, text);
    fs::write(folder.journal(), altered).unwrap();
    let error = Journal::open(&folder.0, header(), false).unwrap_err();
    assert!(matches!(error, JournalError::Damaged { line: 2, .. }), "{error}");
    let twice = format!("{text}{text}");
    fs::write(folder.journal(), twice).unwrap();
    let error = Journal::open(&folder.0, header(), false).unwrap_err();
    assert!(matches!(error, JournalError::Damaged { line: 7, .. }), "{error}");
}

#[test]
fn another_run_is_refused_with_every_difference_and_set_aside_on_demand() {
    let folder = Folder::new("other");
    let bytes = write(&folder);
    let mut other = header();
    other.seed = 8;
    other.environment.set("threads", "1");
    other.environment.set("governor", "powersave");
    let error = Journal::open(&folder.0, other.clone(), false).unwrap_err();
    let text = error.to_string();
    for difference in [
        "seed was 7 and is now 8",
        "threads was 2 and is now 1",
        "governor was not recorded and is now powersave",
    ] {
        assert!(text.contains(difference), "{text}");
    }
    let opened = Journal::open(&folder.0, other, true).unwrap();
    assert!(opened.contents.entries.is_empty());
    assert_eq!(fs::read(folder.0.join("journal.1.jsonl")).unwrap(), bytes);
    // When a run began does not matter.
    let later = Header { started_utc: "2027-01-01T00:00:00Z".to_owned(), ..header() };
    fs::write(folder.journal(), &bytes).unwrap();
    assert_eq!(Journal::open(&folder.0, later, false).unwrap().contents.entries, entries());
}

#[test]
fn a_full_disk_is_an_error_and_not_a_silent_loss() {
    let full = PathBuf::from("/dev/full");
    let file = OpenOptions::new().append(true).open(&full).unwrap();
    let mut journal = Journal { file, path: full };
    let error = journal.append(&entries()[0]).unwrap_err();
    let JournalError::Io { source, .. } = &error else { panic!("{error}") };
    assert_eq!(source.kind(), io::ErrorKind::StorageFull);
}
