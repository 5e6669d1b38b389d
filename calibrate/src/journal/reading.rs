//! Reads a journal back, whatever moment its writer died at, and says whether its run is the
//! one asked for.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use kernelgauge_data::Record;

use super::error::JournalError;
use super::line::{Entry, Header};

/// The contents of a journal.
#[derive(Debug, Clone, PartialEq)]
pub struct Contents {
    /// Its first line.
    pub header: Header,
    /// Every other line, in order.
    pub entries: Vec<Entry>,
    /// Bytes up to the end of the last whole line.
    pub whole_bytes: u64,
    /// Whether a torn line follows them.
    pub torn: bool,
}

impl Contents {
    /// Reads the journal at `path`; none when there is no journal, or none with a whole header.
    ///
    /// A last line that is unterminated or fails its checksum was torn by a crash: it is left
    /// out and reported in [`Contents::torn`].
    ///
    /// # Errors
    /// What the file system says, or a damaged line that is not the last: no crash of a writer
    /// that appends whole lines explains that.
    pub fn read(path: &Path) -> Result<Option<Self>, JournalError> {
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(JournalError::Io { path: path.to_owned(), source }),
        };
        let mut contents: Option<Contents> = None;
        let mut offset = 0;
        for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let end = offset + line.len();
            let entry = match parse(line) {
                Ok(entry) => entry,
                Err(_) if end == bytes.len() => break,
                Err(problem) => {
                    return Err(JournalError::Damaged {
                        path: path.to_owned(),
                        line: index + 1,
                        problem,
                    });
                }
            };
            match (&mut contents, entry) {
                (None, Entry::Header(header)) => {
                    let (whole_bytes, torn) = (end as u64, false);
                    contents = Some(Contents { header, entries: vec![], whole_bytes, torn });
                }
                (Some(contents), entry @ (Entry::Point { .. } | Entry::Sentinel { .. })) => {
                    contents.entries.push(entry);
                    contents.whole_bytes = end as u64;
                }
                (None, _) | (Some(_), Entry::Header(_)) => {
                    let problem = "the header is the first line and no other".to_owned();
                    let path = path.to_owned();
                    return Err(JournalError::Damaged { path, line: index + 1, problem });
                }
            }
            offset = end;
        }
        if let Some(contents) = &mut contents {
            contents.torn = contents.whole_bytes < bytes.len() as u64;
        }
        Ok(contents)
    }

    /// What became of every point, by index; of several entries of a point the last counts.
    pub fn records(&self) -> BTreeMap<usize, &Record> {
        let mut records = BTreeMap::new();
        for entry in &self.entries {
            if let Entry::Point { index, record } = entry {
                records.insert(*index, record);
            }
        }
        records
    }
}

fn parse(line: &[u8]) -> Result<Entry, String> {
    let Some((b'\n', line)) = line.split_last() else {
        return Err("it is not terminated".to_owned());
    };
    Entry::from_line(std::str::from_utf8(line).map_err(|error| error.to_string())?)
}

/// Every field of `before` that keeps a run with header `now` from continuing it.
pub fn differences(before: &Header, now: &Header) -> Vec<String> {
    let text = |samples: Option<u32>| samples.map_or("adaptive".to_owned(), |n| n.to_string());
    let digits = |hash: &str| hash.get(..12).unwrap_or(hash).to_owned();
    let fields = [
        ("format version", before.format_version.to_string(), now.format_version.to_string()),
        ("tool version", before.tool_version.clone(), now.tool_version.clone()),
        ("machine", before.machine.clone(), now.machine.clone()),
        ("seed", before.seed.to_string(), now.seed.to_string()),
        ("samples", text(before.samples), text(now.samples)),
    ];
    let mut differences: Vec<String> = fields
        .into_iter()
        .filter(|(_, before, now)| before != now)
        .map(|(name, before, now)| format!("{name} was {before} and is now {now}"))
        .collect();
    // Another seed or tool explains another plan.
    if before.plan != now.plan && differences.is_empty() {
        let (before, now) = (digits(&before.plan), digits(&now.plan));
        differences.push(format!("plan was {before} and is now {now}"));
    }
    let or_nothing = |value: Option<String>| value.unwrap_or_else(|| "not recorded".to_owned());
    differences.extend(before.environment.differences(&now.environment).into_iter().map(|fact| {
        let (before, now) = (or_nothing(fact.before), or_nothing(fact.now));
        format!("{} was {before} and is now {now}", fact.fact)
    }));
    differences
}
