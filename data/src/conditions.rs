//! The conditions a point was measured under, which are part of its identity.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::nearest::{self, UnknownName};

/// Whether the operands were in a cache when the timing began.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum CacheState {
    /// The source does not say.
    #[default]
    Unstated,
    /// The same operands again and again.
    Hot,
    /// Operands evicted, or rotated through more memory than the last cache holds.
    Cold,
}

impl CacheState {
    /// `cold`, `hot`, or empty.
    pub const fn name(self) -> &'static str {
        match self {
            CacheState::Unstated => "",
            CacheState::Hot => "hot",
            CacheState::Cold => "cold",
        }
    }
}

impl FromStr for CacheState {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        match text {
            "" => Ok(CacheState::Unstated),
            "hot" => Ok(CacheState::Hot),
            "cold" => Ok(CacheState::Cold),
            _ => Err(nearest::unknown("cache state", text, ["hot", "cold"])),
        }
    }
}

/// What the operands held. Zeros draw less power than random data and run up to 15 % faster
/// (DeepBench issue 104, CUTLASS issue 2004), so the contents are part of the key.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputContent {
    /// The source does not say.
    #[default]
    Unstated,
    /// Random values from a recorded seed: the default of every measurement of this tool.
    Random,
    /// Anything else, by the source's own name (`zeros`, `uniform01`).
    Named(String),
}

impl InputContent {
    /// `random`, the source's own name, or empty.
    pub fn name(&self) -> &str {
        match self {
            InputContent::Unstated => "",
            InputContent::Random => "random",
            InputContent::Named(name) => name,
        }
    }
}

impl From<&str> for InputContent {
    fn from(name: &str) -> Self {
        match name {
            "" => InputContent::Unstated,
            "random" => InputContent::Random,
            _ => InputContent::Named(name.to_owned()),
        }
    }
}

/// The conditions of one record.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Conditions {
    /// Cold or hot operands.
    pub cache: CacheState,
    /// Contents of the operands.
    pub input: InputContent,
    /// The kernel, library or backend that did the work; empty when unstated.
    pub kernel: String,
}

impl Conditions {
    /// What did the work without the algorithm it chose for a shape: of
    /// `cublasLt 13.0.2 algo 66 tile 20 ...` the library and its version.
    pub fn backend(&self) -> &str {
        self.kernel.split_once(" algo ").map_or(self.kernel.as_str(), |(backend, _)| backend)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backend_is_its_name_without_the_algorithm() {
        let backend = |kernel: &str| {
            let conditions = Conditions { kernel: kernel.to_owned(), ..Conditions::default() };
            conditions.backend().to_owned()
        };
        assert_eq!(backend("cublasLt 13.0.2 algo 66 tile 20 (graph)"), "cublasLt 13.0.2");
        assert_eq!(backend("cuMemcpyDtoDAsync (graph)"), "cuMemcpyDtoDAsync (graph)");
        assert_eq!(backend(""), "");
    }
}
