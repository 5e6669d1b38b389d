//! `dataset.toml`: what machine the files speak for, how they were made, and what they must be.

use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::machine::{Machine, Origin};

/// The version of the folder layout this build writes and reads.
pub const FORMAT_VERSION: u32 = 1;

/// The provenance of a data set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Version of the folder layout.
    pub format_version: u32,
    /// Measured here, imported, or made up by a test.
    pub origin: Origin,
    /// The machine the measurements speak for.
    pub machine: Machine,
    /// Facts that must agree for more measurements to be added.
    #[serde(default, skip_serializing_if = "Environment::is_empty")]
    pub environment: Environment,
    /// The run that measured, for data sets of this tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Run>,
    /// The files of the folder.
    #[serde(default)]
    pub files: Vec<FileEntry>,
}

impl Manifest {
    /// A manifest without files.
    pub fn new(machine: Machine, origin: Origin) -> Self {
        Manifest {
            format_version: FORMAT_VERSION,
            origin,
            machine,
            environment: Environment::default(),
            run: None,
            files: Vec::new(),
        }
    }

    /// The entry of the file called `name`.
    pub fn file(&self, name: &str) -> Option<&FileEntry> {
        self.files.iter().find(|file| file.name == name)
    }
}

/// One run of `calibrate`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Version of the tool, git revision included.
    pub tool_version: String,
    /// Seed of the order and of all contents.
    pub seed: u64,
    /// Hash of the plan.
    pub plan_hash: String,
    /// When it began, `2026-11-30T10:36:00Z`.
    pub started_utc: String,
    /// When it ended, the same way.
    pub finished_utc: String,
    /// Whether every planned point was attempted.
    pub status: RunStatus,
}

/// Whether a run reached the end of its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Every planned point was attempted.
    Complete,
    /// The run was stopped or its budget ended.
    Partial,
}

/// One CSV file of the folder. Rows and digest are filled in when the set is written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileEntry {
    /// Name inside the folder: `gemm.csv`, `custom-my_kernel.csv`.
    pub name: String,
    /// Rows below the header.
    #[serde(default)]
    pub rows: u64,
    /// SHA-256 of the file in hexadecimal.
    #[serde(default)]
    pub sha256: String,
    /// Where the measurements come from.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// Licence of the source.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub licence: String,
    /// Software that was measured, with versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub software: String,
    /// How it was measured.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub method: String,
    /// Anything else a reader should know.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub notes: String,
}
