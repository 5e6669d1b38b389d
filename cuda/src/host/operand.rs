//! Where operands live: one arena per device, cut into aligned operands.
//!
//! The arena outlives a point, so that the pages of a large point are not faulted in again for
//! the next. Every page of an operand is touched before anything is timed: by filling it or, for
//! further copies of a result, by the first round of [`super::workload::HostWorkload`].
//!
//! An operand holds one copy for hot points and, for cold ones, as many as exceed the last cache
//! together; see [`super::workload::Rotation`].

use std::mem::size_of;

use kernelgauge_data::{Bytes, Failure};
use rayon::prelude::*;

use super::real::Element;
use super::threads::Threads;
use crate::random::Random;

/// Words of 8 bytes in a cache line of 64.
const LINE: usize = 8;
/// Lines left free after an operand, so that operands of a power-of-two size do not all begin
/// at the same offset of a page.
const GAP_LINES: usize = 17;
/// Elements that are drawn for an operand before they repeat: a prime, so that rows of no
/// usual length repeat with them.
pub(crate) const RANDOM_BLOCK: usize = 262_139;

/// Words an arena has at least: 1 GiB, which most points fit in.
const LEAST_WORDS: usize = 1 << 27;

/// Bytes an operand of `slots` copies of `bytes` takes in the arena; none on overflow.
pub fn operand_bytes(bytes: u64, slots: u64) -> Option<u64> {
    let line = 8 * LINE as u64;
    bytes.checked_next_multiple_of(line)?.checked_mul(slots)?.checked_add(GAP_LINES as u64 * line)
}

/// Memory that is handed from point to point.
///
/// It is asked for generously, since the system hands out a page only when it is first touched,
/// and a page that stays need not be cleared again, which in a virtual machine takes several
/// times as long as filling it.
#[derive(Debug, Default)]
pub struct Arena {
    words: Vec<u64>,
    used: usize,
}

impl Arena {
    /// Most bytes that were handed out so far, and so may be resident.
    pub fn bytes(&self) -> Bytes {
        Bytes::new(8 * self.used as u64)
    }

    /// At least `bytes` bytes, aligned to cache lines.
    ///
    /// # Errors
    /// When the memory cannot be had.
    pub fn reserve<'arena>(
        &'arena mut self,
        bytes: Bytes,
        threads: &'arena Threads,
    ) -> Result<Carver<'arena>, Failure> {
        let refuse = || Failure::Device(format!("cannot allocate {bytes}"));
        let words = usize::try_from(bytes.get().div_ceil(8)).map_err(|_| refuse())?;
        let words = words.checked_add(LINE).ok_or_else(refuse)?;
        if words > self.words.len() {
            self.grow(words).ok_or_else(refuse)?;
        }
        self.used = self.used.max(words);
        let skip = self.words.as_ptr().align_offset(8 * LINE);
        let rest = self.words.get_mut(skip..skip + words - LINE).ok_or_else(refuse)?;
        Ok(Carver { rest, threads })
    }

    /// Replaces the memory by at least `words` words; none when they cannot be had.
    fn grow(&mut self, words: usize) -> Option<()> {
        // The old memory goes back first: both need not fit at once.
        (self.words, self.used) = (Vec::new(), 0);
        let generous = words.max(LEAST_WORDS).checked_next_power_of_two().unwrap_or(words);
        let had = [generous, words].into_iter().find(|words| {
            // Asked and given back, because zeroed memory can only be had by a call that aborts.
            Vec::<u64>::new().try_reserve_exact(*words).is_ok()
        })?;
        self.words = vec![0; had];
        Some(())
    }
}

/// What is left of an arena while operands are cut from it.
#[derive(Debug)]
pub struct Carver<'arena> {
    rest: &'arena mut [u64],
    threads: &'arena Threads,
}

impl<'arena> Carver<'arena> {
    /// Cuts an operand of `slots` copies of `len` elements, to be written: copy 0 is zeroed, so
    /// that no result of an earlier point can pass for one of this; the others hold anything.
    ///
    /// # Errors
    /// When the arena is too small.
    pub fn blank<T: Element>(
        &mut self,
        len: u64,
        slots: usize,
    ) -> Result<Operand<'arena, T>, Failure> {
        let mut operand = self.cut::<T>(len, slots)?;
        self.threads.run(|| {
            operand.slot_mut(0).par_chunks_mut(1 << 16).for_each(|chunk| chunk.fill(T::zeroed()));
        });
        Ok(operand)
    }

    /// Cuts an operand of `slots` copies of `len` elements, random from `seed` and unlike any
    /// operand with another `stream`.
    ///
    /// # Errors
    /// When the arena is too small.
    pub fn random<T: Element>(
        &mut self,
        len: u64,
        slots: usize,
        (seed, stream): (u64, u64),
    ) -> Result<Operand<'arena, T>, Failure> {
        let operand = self.cut::<T>(len, slots)?;
        let mut random = Random::stream(seed, stream);
        let block: Vec<T> =
            (0..RANDOM_BLOCK.min(operand.data.len())).map(|_| T::random(&mut random)).collect();
        self.threads.run(|| {
            operand
                .data
                .par_chunks_mut(RANDOM_BLOCK)
                .for_each(|chunk| chunk.copy_from_slice(&block[..chunk.len()]));
        });
        Ok(operand)
    }

    fn cut<T: Element>(&mut self, len: u64, slots: usize) -> Result<Operand<'arena, T>, Failure> {
        let refuse = || Failure::Device(format!("{slots} copies of {len} elements do not fit"));
        let bytes = len.checked_mul(size_of::<T>() as u64).ok_or_else(refuse)?;
        let total = operand_bytes(bytes, slots as u64).ok_or_else(refuse)?;
        let words = usize::try_from(total / 8).map_err(|_| refuse())?;
        let rest = std::mem::take(&mut self.rest);
        let Some((cut, rest)) = rest.split_at_mut_checked(words) else {
            return Err(refuse());
        };
        self.rest = rest;
        let used = words - GAP_LINES * LINE;
        let data: &mut [T] = bytemuck::cast_slice_mut(&mut cut[..used]);
        Ok(Operand { stride: data.len() / slots.max(1), len: len as usize, data })
    }
}

/// One operand in one or more copies.
#[derive(Debug)]
pub struct Operand<'arena, T> {
    data: &'arena mut [T],
    stride: usize,
    len: usize,
}

impl<T> Operand<'_, T> {
    /// Copy `slot`.
    pub fn slot(&self, slot: usize) -> &[T] {
        &self.data[slot * self.stride..][..self.len]
    }

    /// Copy `slot`, to write.
    pub fn slot_mut(&mut self, slot: usize) -> &mut [T] {
        &mut self.data[slot * self.stride..][..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_are_aligned_disjoint_and_seeded() {
        let threads = Threads::new(1).unwrap();
        let mut arena = Arena::default();
        let need = operand_bytes(4 * 17, 3).unwrap() + operand_bytes(8 * 5, 1).unwrap();
        let mut carver = arena.reserve(Bytes::new(need), &threads).unwrap();
        let mut first = carver.random::<f32>(17, 3, (1, 0)).unwrap();
        let second = carver.random::<f64>(5, 1, (1, 1)).unwrap();
        for slot in 0..3 {
            assert_eq!(first.slot(slot).len(), 17);
            assert_eq!(first.slot(slot).as_ptr().align_offset(64), 0);
        }
        assert_eq!(second.slot(0).as_ptr().align_offset(64), 0);
        let before = second.slot(0).to_vec();
        first.slot_mut(2).fill(9.0);
        assert_eq!(second.slot(0), before);
        assert!(carver.blank::<f32>(1 << 20, 1).is_err());
        let again: Vec<f32> = first.slot(0).to_vec();
        let mut carver = arena.reserve(Bytes::new(need), &threads).unwrap();
        assert_eq!(carver.random::<f32>(17, 3, (1, 0)).unwrap().slot(0), again);
    }

    #[test]
    fn impossible_sizes_are_refused_without_an_allocation() {
        let threads = Threads::new(1).unwrap();
        let mut arena = Arena::default();
        for bytes in [u64::MAX, u64::MAX / 2, 1 << 62] {
            assert!(arena.reserve(Bytes::new(bytes), &threads).is_err());
        }
        assert_eq!(operand_bytes(u64::MAX, 1), None);
        assert_eq!(operand_bytes(1 << 40, 1 << 40), None);
    }
}
