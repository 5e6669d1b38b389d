//! How a point was executed where it was not in the usual way: a condition, like the cache
//! state, that stands among the words of the kernel.
//!
//! A model speaks of the usual way; the others are measured beside it to be looked at.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::conditions::Conditions;

/// What the importers call a collective whose result replaces what was sent.
pub(crate) const IN_PLACE: &str = "in_place";
const ISOLATED: &str = "isolated";

/// The manner of an execution.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Manner {
    /// Whatever is usual for the op: collectives out of place and in flight (back to back, as
    /// nccl-tests times them), peer copies from the first GPU to the second.
    #[default]
    Usual,
    /// A collective in flight whose result replaces what was sent.
    InPlace,
    /// A collective alone: the ranks are aligned before each execution, and timed one by one.
    Isolated,
    /// A peer copy between two GPUs of the run, counted in the order they were named.
    Pair {
        /// GPU that is read.
        from: u32,
        /// GPU that is written.
        to: u32,
    },
}

impl Manner {
    /// The manner behind the words of a kernel: `ncclAllReduce 2.29.2 (isolated)`,
    /// `cuMemcpyPeerAsync (graph, GPU 0 to 3)`, or the importers' `in_place`.
    pub fn of(conditions: &Conditions) -> Self {
        let kernel = conditions.kernel.as_str();
        if kernel == IN_PLACE {
            return Manner::InPlace;
        }
        let marks = kernel.strip_suffix(')').and_then(|text| text.rsplit_once('('));
        let marks = marks.map(|(_, marks)| marks).unwrap_or_default();
        marks.split(", ").find_map(Manner::read).unwrap_or_default()
    }

    fn read(mark: &str) -> Option<Self> {
        match mark {
            IN_PLACE => Some(Manner::InPlace),
            ISOLATED => Some(Manner::Isolated),
            _ => {
                let (from, to) = mark.strip_prefix("GPU ")?.split_once(" to ")?;
                Some(Manner::Pair { from: from.parse().ok()?, to: to.parse().ok()? })
            }
        }
    }
}

/// The mark among the words of a kernel; nothing for the usual manner.
impl fmt::Display for Manner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Manner::Usual => Ok(()),
            Manner::InPlace => f.write_str(IN_PLACE),
            Manner::Isolated => f.write_str(ISOLATED),
            Manner::Pair { from, to } => write!(f, "GPU {from} to {to}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kernel: &str) -> Manner {
        Manner::of(&Conditions { kernel: kernel.to_owned(), ..Conditions::default() })
    }

    #[test]
    fn marks_read_back_and_other_words_are_usual() {
        for manner in [Manner::InPlace, Manner::Isolated, Manner::Pair { from: 3, to: 12 }] {
            assert_eq!(of(&format!("ncclAllReduce 2.29.2 ({manner})")), manner);
            assert_eq!(of(&format!("a copy (graph, {manner})")), manner);
        }
        assert_eq!(of("in_place"), Manner::InPlace);
        for kernel in ["", "ncclAllReduce 2.29.2 (in flight)", "isolated", "x (GPU 1 to)", "memcpy"]
        {
            assert_eq!(of(kernel), Manner::Usual, "{kernel}");
        }
    }
}
