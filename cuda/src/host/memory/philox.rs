//! The random words of dropout: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random
//! numbers: as easy as 1, 2, 3", 2011).
//!
//! A word depends on a seed and its position only, so that a backward pass draws the same ones.

/// Multipliers of a round, and what is added to the key after it.
const MULTIPLIERS: [u32; 2] = [0xd251_1f53, 0xcd9e_8d57];
const WEYL: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];

/// The four words of each of `N` counters from `first` on: word `w` of counter `first + i` is
/// `[w][i]`. Counters lie side by side, so that a round is vector code.
#[inline(always)]
pub fn words<const N: usize>(first: u64, seed: u64) -> [[u32; N]; 4] {
    let mut counters = [[0; N]; 4];
    let [low, high, ..] = &mut counters;
    for (i, (low, high)) in low.iter_mut().zip(high).enumerate() {
        let counter = first.wrapping_add(i as u64);
        (*low, *high) = (counter as u32, (counter >> 32) as u32);
    }
    rounds(counters, [seed as u32, (seed >> 32) as u32])
}

#[inline(always)]
fn rounds<const N: usize>(mut c: [[u32; N]; 4], mut key: [u32; 2]) -> [[u32; N]; 4] {
    for _ in 0..10 {
        let [first, second, third, fourth] = &mut c;
        for (((a, b), c), d) in first.iter_mut().zip(second).zip(third).zip(fourth) {
            let [one, other] = [(*a, MULTIPLIERS[0]), (*c, MULTIPLIERS[1])]
                .map(|(word, by)| u64::from(word) * u64::from(by));
            *a = (other >> 32) as u32 ^ *b ^ key[0];
            *b = other as u32;
            *c = (one >> 32) as u32 ^ *d ^ key[1];
            *d = one as u32;
        }
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    c
}

/// Word `index` of a seed: one of the four of counter `index / 4`.
pub fn word(index: u64, seed: u64) -> u32 {
    words::<1>(index / 4, seed)[(index % 4) as usize][0]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known answers that Random123 ships.
    #[test]
    fn words_are_the_published_ones() {
        let known = [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8];
        assert_eq!([0, 1, 2, 3].map(|index| word(index, 0)), known);
        let ones = rounds([[u32::MAX]; 4], [u32::MAX; 2]);
        assert_eq!(ones.concat(), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
    }

    #[test]
    fn counters_side_by_side_are_those_alone() {
        let first = (1 << 32) - 2;
        let together = words::<4>(first, 7);
        for i in 0..16 {
            let alone = word(4 * first + i, 7);
            assert_eq!(together[(i % 4) as usize][(i / 4) as usize], alone, "{i}");
        }
    }
}
