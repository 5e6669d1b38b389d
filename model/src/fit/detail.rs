//! How finely a correction is learned: many small steps cost room in the model file and time per
//! prediction.

use std::fmt;
use std::str::FromStr;

use kernelgauge_data::{Diagnostic, ExitStatus};
use thiserror::Error;

/// Size of the forests that a fit may grow: how many trees, of how many leaves each.
///
/// [`Detail::STANDARD`] is the knee of error against microseconds and bytes, [`Detail::FULL`]
/// where the error stops falling; `cargo bench --bench detail` prints the curve between and
/// around them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Detail {
    trees: u16,
    leaves: u16,
}

impl Detail {
    /// What models are shipped with.
    pub const STANDARD: Detail = Detail { trees: 175, leaves: 127 };

    /// The most accurate.
    pub const FULL: Detail = Detail { trees: 700, leaves: 255 };

    /// Most trees.
    const MOST_TREES: u16 = 4000;

    /// Most leaves of a tree.
    const MOST_LEAVES: u16 = 1024;

    /// So many trees of so many leaves; none beyond 4000 or 1024, or below 1 and 2.
    pub fn of(trees: u16, leaves: u16) -> Option<Detail> {
        let within = (1..=Self::MOST_TREES).contains(&trees);
        (within && (2..=Self::MOST_LEAVES).contains(&leaves)).then_some(Detail { trees, leaves })
    }

    /// Number of trees.
    pub fn trees(self) -> usize {
        self.trees.into()
    }

    /// Most leaves of a tree.
    pub fn leaves(self) -> usize {
        self.leaves.into()
    }
}

impl Default for Detail {
    fn default() -> Self {
        Detail::STANDARD
    }
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Detail::STANDARD => f.write_str("standard"),
            Detail::FULL => f.write_str("full"),
            Detail { trees, leaves } => write!(f, "{trees}x{leaves}"),
        }
    }
}

/// A text that is no level of detail.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is no level of detail")]
pub struct UnknownDetail(String);

impl Diagnostic for UnknownDetail {
    fn hint(&self) -> Option<String> {
        Some(format!(
            "`standard`, `full`, or TREESxLEAVES up to {}x{}, such as `175x127`",
            Detail::MOST_TREES,
            Detail::MOST_LEAVES
        ))
    }

    fn exit_status(&self) -> ExitStatus {
        ExitStatus::Input
    }
}

impl FromStr for Detail {
    type Err = UnknownDetail;

    fn from_str(text: &str) -> Result<Self, UnknownDetail> {
        let sized = || {
            let (trees, leaves) = text.split_once('x')?;
            Detail::of(trees.parse().ok()?, leaves.parse().ok()?)
        };
        match text {
            "standard" => Ok(Detail::STANDARD),
            "full" => Ok(Detail::FULL),
            _ => sized().ok_or_else(|| UnknownDetail(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_read_as_it_is_shown() {
        for text in ["standard", "full", "60x31"] {
            assert_eq!(text.parse::<Detail>().unwrap().to_string(), text);
        }
        for text in ["", "fuller", "0x31", "60x1", "60x", "4001x31", "60x31x2", "-1x31"] {
            assert!(text.parse::<Detail>().unwrap_err().hint().is_some(), "{text}");
        }
    }
}
