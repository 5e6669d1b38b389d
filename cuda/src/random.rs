//! The generator behind every random operand, index and simulated noise.
//!
//! xoshiro256++ (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2019),
//! seeded through SplitMix64 as its authors advise. It is written out here so that a recorded
//! seed yields the same operands whatever version of whatever crate is in use.
//!
//! Left to others: what is drawn (`host::operand`, `host::embedding::indices`, `simulated`).

/// A seeded generator of 64-bit words.
#[derive(Debug, Clone)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// The generator of `seed`.
    pub fn new(seed: u64) -> Self {
        let mut stage = seed;
        Random { state: std::array::from_fn(|_| split_mix(&mut stage)) }
    }

    /// The generator of part `stream` of `seed`: streams of one seed are unrelated.
    pub fn stream(seed: u64, stream: u64) -> Self {
        let mut stage = seed ^ stream.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
        Random::new(split_mix(&mut stage))
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        let state = &mut self.state;
        let result = state[0].wrapping_add(state[3]).rotate_left(23).wrapping_add(state[0]);
        let shifted = state[1] << 17;
        state[2] ^= state[0];
        state[3] ^= state[1];
        state[1] ^= state[2];
        state[0] ^= state[3];
        state[2] ^= shifted;
        state[3] = state[3].rotate_left(45);
        result
    }

    /// A float in `[0, 1)` with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// An integer below `bound` (0 for a bound of 0), by multiplication of the full word; the
    /// bias is below `bound / 2^64`.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// A standard normal value: twelve uniforms, less six (mean 0, variance 1, within 6).
    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
}

/// One step of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
/// generators", 2014).
fn split_mix(stage: &mut u64) -> u64 {
    *stage = stage.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut word = *stage;
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_words_of_the_published_generators() {
        // The known first word of SplitMix64 from seed 0, and the known first words of
        // xoshiro256++ from the state 1, 2, 3, 4.
        let mut stage = 0;
        assert_eq!(split_mix(&mut stage), 0xe220_a839_7b1d_cdaf);
        let mut random = Random { state: [1, 2, 3, 4] };
        let words: Vec<u64> = (0..4).map(|_| random.bits()).collect();
        assert_eq!(words, [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386]);
    }

    #[test]
    fn same_seed_same_words_and_streams_differ() {
        let words = |mut random: Random| -> Vec<u64> { (0..8).map(|_| random.bits()).collect() };
        assert_eq!(words(Random::new(7)), words(Random::new(7)));
        assert_ne!(words(Random::new(7)), words(Random::new(8)));
        assert_ne!(words(Random::stream(7, 0)), words(Random::stream(7, 1)));
    }

    #[test]
    fn moments_are_those_of_the_laws() {
        let mut random = Random::new(1);
        let count = 20_000;
        let mean = (0..count).map(|_| random.unit()).sum::<f64>() / f64::from(count);
        assert!((mean - 0.5).abs() < 0.01, "{mean}");
        let squares = (0..count).map(|_| random.normal().powi(2)).sum::<f64>();
        assert!((squares / f64::from(count) - 1.0).abs() < 0.05, "{squares}");
        assert!((0..1000).all(|_| random.below(10) < 10));
        assert_eq!(random.below(0), 0);
    }
}
