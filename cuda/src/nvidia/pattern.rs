//! Random bytes that can be produced again from any place, for operands and for comparing.
//!
//! A megabyte is random from the seed; the next megabytes are the same with every byte changed
//! by their number. So a gigabyte takes as long as writing it, no two neighbours agree, and
//! what a copy left at an offset is compared without keeping the source.

use std::ops::Range;

use kernelgauge_data::Failure;

use crate::random::Random;

/// Bytes that are random.
const BLOCK: usize = 1 << 20;
/// Results up to so many blocks are compared whole, of others so many blocks.
const MOST_BLOCKS: usize = 64;

/// The bytes of one operand.
#[derive(Debug)]
pub struct Pattern {
    block: Vec<u8>,
    seed: u64,
}

impl Pattern {
    /// The bytes of `seed`.
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let block = (0..BLOCK / 8).flat_map(|_| random.bits().to_le_bytes()).collect();
        Pattern { block, seed }
    }

    /// Writes the bytes of block `number` to `part`, which is a block or the rest of one.
    pub fn write(&self, number: usize, part: &mut [u8]) {
        let change = number as u8;
        for (byte, random) in part.iter_mut().zip(&self.block) {
            *byte = random ^ change;
        }
    }

    /// Writes every byte of `data`.
    pub fn fill(&self, data: &mut [u8]) {
        for (number, part) in data.chunks_mut(BLOCK).enumerate() {
            self.write(number, part);
        }
    }

    /// Compares `bytes` bytes, which `read` reads from an offset on.
    ///
    /// # Errors
    /// [`Failure::WrongResult`] with the first byte that differs, or those of `read`.
    pub fn compare(
        &self,
        bytes: usize,
        mut read: impl FnMut(usize, &mut [u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut expected = vec![0; BLOCK.min(bytes)];
        let mut found = expected.clone();
        for number in chosen(bytes.div_ceil(BLOCK), self.seed) {
            let Range { start, end } = number * BLOCK..bytes.min((number + 1) * BLOCK);
            let (expected, found) = (&mut expected[..end - start], &mut found[..end - start]);
            self.write(number, expected);
            read(start, found)?;
            if let Some(at) = expected.iter().zip(&*found).position(|(a, b)| a != b) {
                let what =
                    format!("byte {} is {} instead of {}", start + at, found[at], expected[at]);
                return Err(Failure::WrongResult(what));
            }
        }
        Ok(())
    }
}

/// Numbers of the blocks to compare: all, or the first, the last and random ones between.
fn chosen(count: usize, seed: u64) -> Vec<usize> {
    if count <= MOST_BLOCKS {
        return (0..count).collect();
    }
    let mut random = Random::stream(seed, 1);
    let mut chosen = vec![0, count - 1];
    chosen.extend((2..MOST_BLOCKS).map(|_| random.below(count as u64) as usize));
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_filled_compares_and_one_changed_byte_does_not() {
        let pattern = Pattern::new(3);
        let mut data = vec![0; 2 * BLOCK + 77];
        pattern.fill(&mut data);
        let compare = |data: &[u8]| {
            pattern.compare(data.len(), |start, part| {
                part.copy_from_slice(&data[start..][..part.len()]);
                Ok(())
            })
        };
        assert_eq!(compare(&data), Ok(()));
        assert_ne!(data[..BLOCK], data[BLOCK..2 * BLOCK]);
        data[2 * BLOCK + 76] ^= 1;
        let Err(Failure::WrongResult(what)) = compare(&data) else { panic!("accepted") };
        assert!(what.starts_with(&format!("byte {} is ", 2 * BLOCK + 76)), "{what}");
    }

    #[test]
    fn long_results_are_compared_in_part() {
        let blocks = chosen(1000, 1);
        assert_eq!((blocks.len(), blocks[0], blocks[1]), (MOST_BLOCKS, 0, 999));
        assert!(blocks.iter().all(|block| *block < 1000));
    }
}
