//! The families of ops: one CSV file and one model each.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::nearest::{self, UnknownName};

/// A family of ops that share parameters, a CSV layout and an analytical term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// Matrix products, single and batched.
    Gemm,
    /// Embedding bags, forward and backward.
    Embedding,
    /// Element-wise ops, reductions, softmax, normalisation, transpose, concat.
    Memory,
    /// Copies between and within memories.
    Copy,
    /// NCCL collectives and send/receive.
    Collective,
    /// Attention, context and generation.
    Attention,
    /// Anything else that was measured over named integer parameters.
    Custom,
}

impl Family {
    /// Every family, in the order reports list them.
    pub const ALL: [Family; 7] = [
        Family::Gemm,
        Family::Embedding,
        Family::Memory,
        Family::Copy,
        Family::Collective,
        Family::Attention,
        Family::Custom,
    ];

    /// The name in files, reports and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Family::Gemm => "gemm",
            Family::Embedding => "embedding",
            Family::Memory => "memory",
            Family::Copy => "copy",
            Family::Collective => "collective",
            Family::Attention => "attention",
            Family::Custom => "custom",
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Family {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        Family::ALL
            .into_iter()
            .find(|family| family.name() == text)
            .ok_or_else(|| nearest::unknown("family", text, Family::ALL.map(Family::name)))
    }
}
