//! A fast hash for texts and rows that occur millions of times.
//!
//! The standard one resists whoever chooses keys with care, and takes a tenth of the time of
//! reading a trace. This one folds products of 64-bit words, as wyhash does, from a seed that
//! differs in every process, so that nobody can prepare a file whose names all collide.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

/// A map with the fast hash.
pub(crate) type FastMap<K, V> = HashMap<K, V, Seed>;

/// Digits of pi behind the point, which nobody chose.
const PI: [u64; 2] = [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344];

/// Where hashes of this process begin.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seed(u64);

impl Default for Seed {
    fn default() -> Self {
        Seed(RandomState::new().hash_one(PI))
    }
}

impl BuildHasher for Seed {
    type Hasher = Fold;

    fn build_hasher(&self) -> Fold {
        Fold(self.0)
    }
}

/// A hash in the making.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fold(u64);

/// Both halves of a product, one over the other.
fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    (product as u64) ^ (product >> 64) as u64
}

impl Fold {
    fn word(&mut self, word: u64) {
        self.0 = fold(self.0 ^ word, PI[0]);
    }

    fn pair(&mut self, first: u64, second: u64) {
        self.0 = fold(self.0 ^ first, second ^ PI[1]).wrapping_add(self.0.rotate_left(23));
    }
}

/// Up to eight bytes as a word.
fn word_of(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    for (place, byte) in word.iter_mut().zip(bytes) {
        *place = *byte;
    }
    u64::from_le_bytes(word)
}

impl Hasher for Fold {
    fn write(&mut self, bytes: &[u8]) {
        let (pairs, rest) = bytes.as_chunks::<16>();
        for pair in pairs {
            let (first, second) = pair.split_at(8);
            self.pair(word_of(first), word_of(second));
        }
        let (first, second) = rest.split_at(rest.len().min(8));
        self.pair(word_of(first), word_of(second) ^ ((bytes.len() as u64) << 56));
    }

    fn write_u8(&mut self, number: u8) {
        self.word(u64::from(number));
    }

    fn write_u32(&mut self, number: u32) {
        self.word(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.word(number);
    }

    fn write_i64(&mut self, number: i64) {
        self.word(number.cast_unsigned());
    }

    fn write_usize(&mut self, number: usize) {
        self.word(number as u64);
    }

    fn finish(&self) -> u64 {
        fold(self.0, PI[1])
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn similar_texts_and_numbers_differ_in_all_parts_of_the_hash() {
        let seed = Seed::default();
        let texts = (0..100_000).map(|number| format!("aten::op_{number}"));
        let hashes: Vec<u64> = texts
            .map(|text| seed.hash_one(text))
            .chain((0..100_000u64).map(|n| seed.hash_one(n)))
            .collect();
        assert_eq!(hashes.iter().collect::<HashSet<_>>().len(), hashes.len());
        // 2^14 buckets hold about 12 each; the fullest of as many random draws has under 40.
        for shift in [0, 25, 50] {
            let mut buckets = vec![0; 1 << 14];
            for hash in &hashes {
                buckets[(hash >> shift) as usize & ((1 << 14) - 1)] += 1;
            }
            assert!(buckets.iter().max() < Some(&40), "{:?}", buckets.iter().max());
        }
    }

    #[test]
    fn length_and_order_count() {
        let seed = Seed::default();
        let texts = [
            "",
            "\0",
            "\0\0",
            "ab",
            "ba",
            "aaaaaaaab",
            "baaaaaaaa",
            "0123456789abcdef",
            "0123456789abcdef\0",
        ];
        let hashes: HashSet<u64> = texts.iter().map(|text| seed.hash_one(text)).collect();
        assert_eq!(hashes.len(), texts.len());
        assert_eq!(seed.hash_one("ab"), seed.hash_one("ab"));
    }
}
