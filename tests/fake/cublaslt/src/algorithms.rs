//! The algorithms there are, which of them fit a product, and how fast each is.

use std::ffi::{c_int, c_void};

use crate::multiply::Shape;
use crate::objects::Object;
use crate::{DONE, INVALID_VALUE, NOT_SUPPORTED, Status, fault};

/// `cublasLtMatmulAlgo_t`: the first word says which.
pub type Algorithm = [u64; 8];

/// `cublasLtMatmulHeuristicResult_t`.
#[repr(C)]
pub struct HeuristicResult {
    algorithm: Algorithm,
    workspace: usize,
    state: Status,
    waves: f32,
    reserved: [c_int; 4],
}

/// An algorithm: its number, workspace, split of the sum, and time relative to the first.
pub struct Kind {
    pub id: u64,
    pub workspace: usize,
    pub split: u32,
    pub slowness: f64,
}

/// In the order in which they are proposed. The second is the fastest.
pub const KINDS: [Kind; 4] = [
    Kind { id: 11, workspace: 0, split: 1, slowness: 1.0 },
    Kind { id: FASTEST, workspace: 1 << 20, split: 4, slowness: 0.75 },
    Kind { id: 13, workspace: 1 << 16, split: 2, slowness: 1.5 },
    Kind { id: 14, workspace: 0, split: 1, slowness: 1.25 },
];
/// The one that is not proposed first and should be.
pub const FASTEST: u64 = 12;

/// The algorithm in the caller's memory.
pub fn kind(algorithm: Option<&Algorithm>) -> Option<&'static Kind> {
    let id = algorithm?[0];
    KINDS.iter().find(|kind| kind.id == id)
}

#[unsafe(no_mangle)]
extern "C" fn cublasLtMatmulAlgoGetHeuristic(
    _handle: *mut Object,
    product: Option<&Object>,
    first: Option<&Object>,
    second: Option<&Object>,
    result: Option<&Object>,
    _written: *mut Object,
    preference: Option<&Object>,
    wanted: c_int,
    results: *mut HeuristicResult,
    count: Option<&mut c_int>,
) -> Status {
    let (Some(preference), Some(count)) = (preference, count) else { return INVALID_VALUE };
    let shape = match Shape::of(product, first, second, result) {
        Ok(shape) => shape,
        Err(status) => return status,
    };
    *count = 0;
    if fault("no_algorithm") || !shape.is_supported() {
        return NOT_SUPPORTED;
    }
    let most = preference.attribute(1) as usize;
    for kind in KINDS.iter().filter(|kind| kind.workspace <= most) {
        if *count >= wanted {
            break;
        }
        let mut algorithm = [0; 8];
        algorithm[0] = kind.id;
        let (workspace, state, reserved) = (kind.workspace, DONE, [0; 4]);
        let found = HeuristicResult { algorithm, workspace, state, waves: 1.0, reserved };
        // SAFETY: the caller has room for as many results as it wants.
        unsafe { results.add(*count as usize).write(found) };
        *count += 1;
    }
    DONE
}

#[unsafe(no_mangle)]
extern "C" fn cublasLtMatmulAlgoConfigGetAttribute(
    algorithm: Option<&Algorithm>,
    number: u32,
    place: *mut c_void,
    bytes: usize,
    written: Option<&mut usize>,
) -> Status {
    let Some(kind) = kind(algorithm) else { return INVALID_VALUE };
    let (value, length) = match number {
        0 => (kind.id as u32, 4),
        1 => (20, 4),
        2 => (kind.split, 4),
        4 => (0, 4),
        6 => (8, 4),
        8 => (2, 2),
        _ => return NOT_SUPPORTED,
    };
    if place.is_null() || bytes < length {
        return INVALID_VALUE;
    }
    // SAFETY: the caller states that so many bytes may be written, and there are as many.
    unsafe { std::ptr::copy_nonoverlapping(value.to_le_bytes().as_ptr(), place.cast(), length) };
    if let Some(written) = written {
        *written = length;
    }
    DONE
}
