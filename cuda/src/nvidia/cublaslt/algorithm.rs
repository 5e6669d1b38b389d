//! The algorithms that the library proposes for a product, and how they are recorded.

use std::ffi::c_void;

use kernelgauge_data::Failure;

use super::Description;
use super::functions::{Algorithm, Functions, HeuristicResult, done};

/// What is recorded of an algorithm: words, and `cublasLtMatmulAlgoConfigAttributes_t` by number
/// with the bytes of its value (cublasLt.h).
const CONFIGURATION: [(&str, u32, usize); 6] = [
    ("algo", 0, 4),
    ("tile", 1, 4),
    ("stages", 6, 4),
    ("split-k", 2, 4),
    ("swizzle", 4, 4),
    ("cluster", 8, 2),
];

/// An algorithm that the library proposes.
#[derive(Debug, Clone, Copy)]
pub struct Candidate {
    /// What `cublasLtMatmul` takes.
    pub algorithm: Algorithm,
    /// Bytes of workspace it needs.
    pub workspace: u64,
}

impl Candidate {
    /// The first `count` that the library's heuristic proposes for `description`, the one it
    /// expects to be the fastest first; none where it has no algorithm for the product.
    ///
    /// # Errors
    /// What the library says, but for having none.
    pub fn proposed(description: &Description, count: u32) -> Result<Vec<Self>, Failure> {
        /// `CUBLAS_STATUS_NOT_SUPPORTED`: there is no algorithm.
        const NOT_SUPPORTED: u32 = 15;
        let count = count.clamp(1, 64);
        let mut results = vec![HeuristicResult::default(); count as usize];
        let mut found = 0;
        let [product, first, second, result] = description.raw();
        let handle = description.handle();
        // SAFETY: handle and descriptors are alive, and there is room for so many results.
        let status = unsafe {
            (handle.functions().heuristic)(
                handle.raw(),
                product,
                first,
                second,
                result,
                result,
                description.preference(),
                count as i32,
                results.as_mut_ptr(),
                &raw mut found,
            )
        };
        if status == NOT_SUPPORTED {
            return Ok(Vec::new());
        }
        done("cublasLtMatmulAlgoGetHeuristic", status)?;
        results.truncate(usize::try_from(found).unwrap_or(0));
        let usable = results.into_iter().filter(|result| result.state == 0);
        let candidate = |result: HeuristicResult| Candidate {
            algorithm: result.algorithm,
            workspace: result.workspace as u64,
        };
        Ok(usable.map(candidate).collect())
    }

    /// `algo 66 tile 20 stages 8 split-k 1 swizzle 0 cluster 2 workspace 4194304`; what the
    /// library does not state is left out.
    pub fn describe(&self, functions: &Functions) -> String {
        let mut words: Vec<String> = CONFIGURATION
            .iter()
            .filter_map(|(word, attribute, bytes)| {
                let value = self.configured(functions, *attribute, *bytes)?;
                Some(format!("{word} {value}"))
            })
            .collect();
        words.push(format!("workspace {}", self.workspace));
        words.join(" ")
    }

    fn configured(&self, functions: &Functions, attribute: u32, bytes: usize) -> Option<u32> {
        let mut value = [0_u8; 4];
        let mut written = 0;
        let place: *mut c_void = value.as_mut_ptr().cast();
        // SAFETY: the algorithm came from the library, and no more than the four bytes there are
        // may be written.
        let status = unsafe {
            (functions.configuration)(
                &raw const self.algorithm,
                attribute,
                place,
                bytes.min(value.len()),
                &raw mut written,
            )
        };
        (status == 0).then_some(u32::from_le_bytes(value))
    }
}
