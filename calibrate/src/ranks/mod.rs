//! A run whose GPUs are spread over processes, on one node or several.
//!
//! Every process is started with the same command, by mpirun, srun, torchrun or by hand
//! ([`place`]). Rank 0 keeps plan, journal and output and listens; the others connect, prove that
//! they belong to the job ([`token`]), and serve their GPUs with the protocol of [`crate::remote`].
//! Before anything is measured the facts of all are compared ([`agreement`]). Rank 0 then has one
//! device, [`SpreadDevice`]: collectives of all ranks go to every process at once, everything else
//! to its own GPUs.
//!
//! Left to others: how ranks find each other within NCCL and what a collective is
//! (`kernelgauge-cuda`), and how one process measures.

mod agreement;
mod error;
mod gathering;
mod joining;
mod place;
mod spread;
mod tcp;
mod token;

pub use error::RanksError;
pub use gathering::gather;
pub use joining::serve;
pub use place::{Flags, Place, detect};
pub use spread::SpreadDevice;

use std::time::Duration;

use crate::remote::wire::Facts;

/// Time in which every rank must have come, unless the user stated another.
pub const JOIN_WITHIN: Duration = Duration::from_secs(60);

/// What a process brings to the meeting of all ranks.
#[derive(Debug, Clone)]
pub struct Meeting<'a> {
    /// Who it is.
    pub place: &'a Place,
    /// Facts of its GPUs.
    pub facts: Facts,
    /// Version of this program, git revision included.
    pub tool: &'a str,
    /// Time in which every rank must have come.
    pub within: Duration,
}

#[cfg(test)]
mod tests;
