//! One line of a journal: a checksum, a blank, and one JSON object.
//!
//! The checksum (the first eight hex digits of the sha256 of the JSON text) tells a line that
//! was torn by a crash from one that was written whole, even where the torn part happens to be
//! valid JSON.

use std::borrow::Cow;
use std::collections::BTreeMap;

use kernelgauge_data::{Environment, Family, Nanos, Record, fields};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The journal format this build reads and writes.
pub const FORMAT_VERSION: u32 = 1;

/// What must agree for a run to be continued, and when it began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// [`FORMAT_VERSION`] of the writer.
    pub format_version: u32,
    /// Version of the tool.
    pub tool_version: String,
    /// Name of the machine.
    pub machine: String,
    /// Hash of the plan.
    pub plan: String,
    /// Seed of operands and order.
    pub seed: u64,
    /// Fixed number of samples, where one was asked for.
    pub samples: Option<u32>,
    /// When the run began, as `2026-11-30T10:26:00Z`.
    pub started_utc: String,
    /// The facts that must not change.
    pub environment: Environment,
}

/// A line of a journal.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    /// The first line.
    Header(Header),
    /// What became of a point.
    Point {
        /// Its index in the plan.
        index: usize,
        /// What became of it.
        record: Record,
    },
    /// A reading of the sentinel point.
    Sentinel {
        /// Its index in the plan.
        index: usize,
        /// Its time.
        time: Nanos,
    },
}

/// The JSON of an entry.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Written<'a> {
    Header(Cow<'a, Header>),
    Point { index: usize, family: Family, record: BTreeMap<Cow<'a, str>, String> },
    Sentinel { index: usize, time_ns: Nanos },
}

impl Entry {
    /// The line with its newline.
    ///
    /// # Errors
    /// Never in practice: every part of an entry has a JSON form.
    pub fn to_line(&self) -> Result<String, serde_json::Error> {
        let json = serde_json::to_string(&match self {
            Entry::Header(header) => Written::Header(Cow::Borrowed(header)),
            Entry::Point { index, record } => Written::Point {
                index: *index,
                family: record.point.family(),
                record: fields::write_record(record)
                    .into_iter()
                    .filter(|(_, value)| !value.is_empty())
                    .collect(),
            },
            Entry::Sentinel { index, time } => Written::Sentinel { index: *index, time_ns: *time },
        })?;
        Ok(format!("{} {json}\n", checksum(&json)))
    }

    /// The entry of a line without its newline.
    ///
    /// # Errors
    /// What is wrong with the line; a torn or altered one fails its checksum.
    pub fn from_line(line: &str) -> Result<Self, String> {
        let Some((sum, json)) = line.split_once(' ') else {
            return Err("no checksum".to_owned());
        };
        if sum != checksum(json) {
            return Err("its checksum does not match".to_owned());
        }
        let written: Written<'_> = serde_json::from_str(json).map_err(|e| e.to_string())?;
        Ok(match written {
            Written::Header(header) => Entry::Header(header.into_owned()),
            Written::Sentinel { index, time_ns } => Entry::Sentinel { index, time: time_ns },
            Written::Point { index, family, record } => {
                let get = |name: &str| record.get(name).map(String::as_str);
                let record = fields::read_record(family, &get).map_err(|e| e.to_string())?;
                Entry::Point { index, record }
            }
        })
    }
}

fn checksum(json: &str) -> String {
    Sha256::digest(json.as_bytes())[..4].iter().map(|byte| format!("{byte:02x}")).collect()
}
