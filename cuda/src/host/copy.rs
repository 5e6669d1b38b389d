//! Copies within host memory, split over the threads.

use kernelgauge_data::Failure;

use super::operand::{Carver, Operand};
use super::threads::Threads;
use super::workload::Kernel;

/// A copy with its operands.
#[derive(Debug)]
pub struct CopyKernel<'arena> {
    source: Operand<'arena, u8>,
    target: Operand<'arena, u8>,
}

impl<'arena> CopyKernel<'arena> {
    /// `slots` pairs of `bytes` bytes, random from `seed`.
    ///
    /// # Errors
    /// When they do not fit.
    pub fn new(
        bytes: u64,
        slots: usize,
        seed: u64,
        carver: &mut Carver<'arena>,
    ) -> Result<Self, Failure> {
        Ok(CopyKernel {
            source: carver.random(bytes, slots, (seed, 0))?,
            target: carver.blank(bytes, slots)?,
        })
    }
}

impl Kernel for CopyKernel<'_> {
    fn name(&self) -> &'static str {
        "memcpy"
    }

    fn execute(&mut self, slot: usize, threads: &Threads) {
        /// Threads copy whole lines, so that no two write the same one.
        const LINE: usize = 64;
        let source = self.source.slot(slot);
        let target = self.target.slot_mut(slot);
        let split = threads.worth(2 * source.len());
        threads.pieces(target, LINE, split, |first, piece| {
            piece.copy_from_slice(&source[first * LINE..][..piece.len()]);
        });
    }

    fn compare(&self) -> Result<(), Failure> {
        let (source, target) = (self.source.slot(0), self.target.slot(0));
        match source.iter().zip(target).position(|(sent, received)| sent != received) {
            Some(byte) => Err(Failure::WrongResult(format!("byte {byte} was not copied"))),
            None => Ok(()),
        }
    }
}
