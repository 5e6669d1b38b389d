//! What the ranks send, and what they must then have: small whole numbers, so that every sum is
//! exact in every dtype and in whatever order it is made.
//!
//! A number depends on seed, rank and place, so that a part that arrives from the wrong rank or
//! at the wrong place shows.

use kernelgauge_data::{Dtype, Failure};

use super::shape::Shape;
use crate::random::Random;

/// Numbers of the table that all are taken from; a prime, so that no size of a part repeats it.
const LENGTH: u64 = 65_521;
/// Places between two ranks, and what each turn through the table shifts it by.
const RANK_STRIDE: u64 = 7_919;
const TURN_STRIDE: u64 = 331;
/// Elements after which all of that begins anew: what lies beyond is copied on the GPU, because
/// the host would take seconds to write the gigabytes of a large collective.
const BLOCK: u64 = 64 * LENGTH;
/// Up to so many ranks numbers go from -2 to 2, else from -1 to 1: sums of bf16 are exact up to
/// 256, those of int8 end at 127.
const FEW_RANKS: u32 = 60;
/// Results up to so many elements are compared whole, of others so many windows.
const WHOLE: u64 = 1 << 16;
const WINDOWS: usize = 16;
const WINDOW: u64 = 1 << 12;

/// The numbers of one point.
#[derive(Debug)]
pub struct Content {
    table: Vec<i8>,
    dtype: Dtype,
    seed: u64,
}

impl Content {
    /// The numbers of `seed` for so many ranks.
    pub fn new(seed: u64, ranks: u32, dtype: Dtype) -> Self {
        let most: i8 = if ranks <= FEW_RANKS { 2 } else { 1 };
        let mut random = Random::new(seed);
        let mut number = || random.below(2 * most as u64 + 1) as i8 - most;
        Content { table: (0..LENGTH).map(|_| number()).collect(), dtype, seed }
    }

    /// Whether sums in `dtype` are known here.
    pub fn knows(dtype: Dtype) -> bool {
        !matches!(dtype, Dtype::Fp8 | Dtype::Fp8Block | Dtype::Tf32)
    }

    /// Bytes of an element.
    pub fn size(&self) -> u64 {
        self.dtype.size()
    }

    /// The number that `rank` sends at `place` of its buffer.
    pub fn number(&self, rank: u64, place: u64) -> i64 {
        let place = place % BLOCK;
        let at = (place % LENGTH + first(rank, place / LENGTH)) % LENGTH;
        i64::from(self.table[at as usize])
    }

    /// The bytes of the first of `elements` elements that `rank` sends, up to a block of them,
    /// which the others repeat.
    pub fn sent(&self, rank: u64, elements: u64) -> Vec<u8> {
        let size = self.dtype.size() as usize;
        let encoded = self.table.iter().map(|number| self.encoded(i64::from(*number)));
        let turn: Vec<u8> = encoded.flat_map(|bytes| bytes.into_iter().take(size)).collect();
        let twice = [turn.as_slice(), turn.as_slice()].concat();
        let mut left = elements.min(BLOCK) as usize * size;
        let mut bytes = Vec::with_capacity(left);
        for number in 0..BLOCK / LENGTH {
            let start = first(rank, number) as usize * size;
            let part = left.min(turn.len());
            bytes.extend_from_slice(&twice[start..start + part]);
            left -= part;
        }
        bytes
    }

    /// Compares what `rank` received, which `read` reads from an offset in bytes on.
    ///
    /// # Errors
    /// [`Failure::WrongResult`] with the first element that differs, or those of `read`.
    pub fn compare(
        &self,
        shape: &Shape,
        rank: u64,
        mut read: impl FnMut(u64, &mut [u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let size = self.dtype.size();
        for (start, count) in windows(shape.received(rank), self.seed) {
            let mut found = vec![0; (count * size) as usize];
            read(start * size, &mut found)?;
            for (place, bytes) in (start..).zip(found.chunks_exact(size as usize)) {
                let expected: i64 =
                    shape.sources(rank, place).map(|(s, p)| self.number(s, p)).sum();
                if bytes != &self.encoded(expected)[..size as usize] {
                    return Err(Failure::WrongResult(format!(
                        "element {place} of rank {rank} is not {expected}"
                    )));
                }
            }
        }
        Ok(())
    }

    /// A whole number in the dtype; its first bytes count.
    fn encoded(&self, number: i64) -> [u8; 8] {
        let mut bytes = [0; 8];
        let float = number as f32;
        match self.dtype {
            Dtype::F64 => bytes = (number as f64).to_le_bytes(),
            Dtype::F16 => bytes[..2].copy_from_slice(&half(float).to_le_bytes()),
            Dtype::Bf16 => {
                bytes[..2].copy_from_slice(&((float.to_bits() >> 16) as u16).to_le_bytes());
            }
            Dtype::Int8 | Dtype::Int32 | Dtype::Int64 => bytes = number.to_le_bytes(),
            Dtype::F32 | Dtype::Tf32 | Dtype::Fp8 | Dtype::Fp8Block => {
                bytes[..4].copy_from_slice(&float.to_le_bytes());
            }
        }
        bytes
    }
}

/// Where in the table a turn of `rank` begins.
fn first(rank: u64, turn: u64) -> u64 {
    (turn * TURN_STRIDE + rank * RANK_STRIDE) % LENGTH
}

/// The bits of a whole number below 2048 in half precision.
fn half(number: f32) -> u16 {
    if number == 0.0 {
        return 0;
    }
    let bits = number.to_bits();
    // The bias of the exponent is 127 there and 15 here.
    let exponent = (bits >> 23 & 0xff).saturating_sub(127 - 15).min(31);
    (bits >> 16 & 0x8000) as u16 | (exponent << 10) as u16 | (bits >> 13 & 0x3ff) as u16
}

/// Where to compare, as start and length: everything, or the ends and random places between.
fn windows(elements: u64, seed: u64) -> Vec<(u64, u64)> {
    if elements <= WHOLE {
        return vec![(0, elements)];
    }
    let last = elements - WINDOW;
    let mut random = Random::stream(seed, 1);
    let mut starts = vec![0, last];
    starts.extend((2..WINDOWS).map(|_| random.below(last)));
    starts.into_iter().map(|start| (start, WINDOW)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_encoded_in_every_dtype() {
        let bytes = |dtype, number| {
            let content = Content::new(1, 2, dtype);
            content.encoded(number)[..dtype.size() as usize].to_vec()
        };
        assert_eq!(bytes(Dtype::F32, -3), (-3_f32).to_le_bytes());
        // 1.5 x 2 in half precision: 0 10000 1000000000.
        assert_eq!(bytes(Dtype::F16, 3), 0x4200_u16.to_le_bytes());
        assert_eq!(bytes(Dtype::F16, -16), 0xcc00_u16.to_le_bytes());
        assert_eq!(bytes(Dtype::Bf16, 5), 0x40a0_u16.to_le_bytes());
        assert_eq!(bytes(Dtype::Int8, -2), [0xfe]);
        assert_eq!(bytes(Dtype::Int64, 7), 7_i64.to_le_bytes());
    }

    #[test]
    fn numbers_depend_on_rank_and_place_and_stay_small() {
        let content = Content::new(9, 8, Dtype::F16);
        let row = |rank, from: u64| -> Vec<i64> {
            (from..from + 99).map(|place| content.number(rank, place)).collect()
        };
        assert_ne!(row(0, 0), row(1, 0));
        assert_ne!(row(0, 0), row(0, LENGTH));
        assert_ne!(row(0, 0), row(0, 1));
        assert!((0..4 * LENGTH).all(|place| (-2..=2).contains(&content.number(7, place))));
    }

    #[test]
    fn what_is_sent_are_the_numbers_and_repeats_after_a_block() {
        let content = Content::new(3, 8, Dtype::Int8);
        for elements in [1, LENGTH - 1, 3 * LENGTH + 5, BLOCK, 2 * BLOCK] {
            let sent = content.sent(5, elements);
            assert_eq!(sent.len() as u64, elements.min(BLOCK));
            let numbers = (0..).zip(&sent).step_by(997);
            for (place, byte) in numbers {
                assert_eq!(i64::from(*byte as i8), content.number(5, place), "{place}");
                assert_eq!(content.number(5, place), content.number(5, place + BLOCK));
            }
        }
        assert_eq!(Content::new(3, 8, Dtype::F64).sent(0, 3).len(), 24);
    }

    #[test]
    fn long_results_are_compared_at_their_ends_and_between() {
        assert_eq!(windows(10, 1), [(0, 10)]);
        let many = windows(1 << 30, 1);
        assert_eq!((many.len(), many[0].0, many[1].0), (WINDOWS, 0, (1 << 30) - WINDOW));
    }
}
