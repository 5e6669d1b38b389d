//! The arithmetic of every kernel in `cuda/kernels`, executed on this processor.
//!
//! The sources are compiled by the C++ compiler of the machine together with `host.h`, which
//! emulates blocks, barriers and shuffles, and launched with the grids that a GPU would get.
//! Results are compared with plain loops in `f64` on awkward sizes: 1, primes, no multiples of a
//! vector, operands off the 16-byte grid. Where there is no compiler, tests say so and pass.
//!
//! What this cannot see: speed, races that no barrier orders, and reads outside an operand whose
//! value is not used (writes outside are seen by guards).

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail where it stands")]

mod buffer;
mod cast;
mod dropout;
mod elementwise;
mod embedding;
mod emulator;
mod layer_norm;
mod moving;
mod number;
mod processor;
mod rows;
mod sort;
mod timing;

use emulator::Kernels;
use kernelgauge_cuda::nvidia::kernels::SOURCES;

/// The catalogue and the sources name the same kernels.
#[test]
fn every_entry_of_the_catalogue_is_defined() {
    for source in SOURCES {
        let Some(kernels) = Kernels::of(source.file) else { return };
        for entry in source.entries {
            assert!(kernels.defines(entry.name), "{}: {}", source.file, entry.name);
        }
    }
}
