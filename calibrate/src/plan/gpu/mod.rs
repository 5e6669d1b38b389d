//! The points of a GPU: matrix products, copies on every route, memory-bound ops and embedding bags in the types
//! that kernels have, and what launching costs.

mod copy;
mod embedding;
mod gemm;
mod memory;
mod overheads;

pub use copy::peer_line;

use super::Candidate;

/// The candidate points.
pub fn candidates() -> Vec<Candidate> {
    [
        gemm::candidates(),
        copy::candidates(),
        memory::candidates(),
        embedding::candidates(),
        overheads::candidates(),
    ]
    .concat()
}
