//! Matrix products through cuBLASLt.
//!
//! The library is looked for when a product is first asked about; without it products are
//! skipped with a sentence, and everything else goes on. [`Functions`] are those of its functions
//! that are called, each looked up first. A product is described once, outside of what is timed:
//! what its element types are ([`Kind`]), how row-major operands become the column-major ones of
//! BLAS ([`Problem`]), descriptors ([`Description`]), and an algorithm ([`Candidate`]). The
//! operands are random from the seed ([`Contents`]), and a sample of the result is computed again
//! on the host ([`Check`]).
//!
//! Left to others: which products are measured (`kernelgauge-calibrate`), how they are timed
//! (`operation`).

mod algorithm;
mod check;
mod contents;
mod description;
mod functions;
mod kind;
mod number;
mod problem;
mod product;
mod tune;

use algorithm::Candidate;
use check::Check;
use contents::Contents;
use description::Description;
pub use functions::{Functions, Handle};
use kind::Kind;
pub use kind::refused;
use problem::Problem;
pub use product::{Product, memory_needed, unsupported};

use super::library::Library;

/// The name of the library in what is recorded of a product: `cublasLt 13.0.2`.
fn library_name() -> String {
    Library::CublasLt
        .version()
        .map_or_else(|| "cublasLt".to_owned(), |version| format!("cublasLt {version}"))
}
