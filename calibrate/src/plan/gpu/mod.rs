//! The points of a GPU: copies on every route, memory-bound ops and embedding bags in the types
//! that kernels have, and what launching costs.

mod copy;
mod embedding;
mod memory;
mod overheads;

use super::Candidate;

/// The candidate points.
pub fn candidates() -> Vec<Candidate> {
    [copy::candidates(), memory::candidates(), embedding::candidates(), overheads::candidates()]
        .concat()
}
