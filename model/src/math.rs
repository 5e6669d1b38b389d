//! Elementary functions and rounding that give the same bits on every x86-64 machine.
//!
//! The model file has to come out byte for byte the same wherever it is fitted, and the
//! standard library's `ln`, `exp` and `powf` call whatever the platform links. Every fit and
//! every feature therefore uses `libm` through this module. Square roots are exact in hardware.

/// Natural logarithm.
pub(crate) fn ln(value: f64) -> f64 {
    libm::log(value)
}

/// Logarithm to base two: octaves.
pub(crate) fn log2(value: f64) -> f64 {
    libm::log2(value)
}

/// Exponential.
pub(crate) fn exp(value: f64) -> f64 {
    libm::exp(value)
}

/// Power.
pub(crate) fn pow(base: f64, exponent: f64) -> f64 {
    libm::pow(base, exponent)
}

/// `value` to nine significant digits: what a model file stores. Constants are rounded before
/// anything is derived from them, so that a model read back answers exactly as the one written.
pub(crate) fn round9(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    format!("{value:.8e}").parse().unwrap_or(value)
}

/// Quantile `q` of ascending `sorted` (type 7: linear between order statistics); 0 when empty.
pub(crate) fn quantile(sorted: &[f64], q: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let position = q.clamp(0.0, 1.0) * last as f64;
    let below = position as usize;
    let above = (below + 1).min(last);
    sorted[below] + (position - below as f64) * (sorted[above] - sorted[below])
}

/// Median of values in any order; 0 when empty.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    quantile(&values, 0.5)
}

/// A fixed, seeded stream of numbers for shuffles and folds (SplitMix64, Steele et al. 2014).
#[derive(Debug, Clone)]
pub(crate) struct Stream(u64);

impl Stream {
    /// The stream of `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Stream(seed)
    }

    /// The next 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Shuffles `items` (Fisher and Yates).
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let pick = (self.next() % (last as u64 + 1)) as usize;
            items.swap(last, pick);
        }
    }

    /// At most `most` of the places below `count`, in order.
    pub(crate) fn drawn(mut self, count: usize, most: usize) -> Vec<usize> {
        let mut places: Vec<usize> = (0..count).collect();
        if count > most {
            self.shuffle(&mut places);
            places.truncate(most);
            places.sort_unstable();
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_digits_survive_and_reread_exactly() {
        for value in [1.0 / 3.0, 6.02214076e23, -2.5e-9, 0.0] {
            let rounded = round9(value);
            assert!((rounded - value).abs() <= value.abs() * 1e-8);
            assert_eq!(round9(rounded), rounded);
        }
    }

    #[test]
    fn quantiles_interpolate_between_order_statistics() {
        let sorted = [1.0, 2.0, 4.0];
        assert_eq!(quantile(&sorted, 0.5), 2.0);
        assert_eq!(quantile(&sorted, 0.75), 3.0);
        assert_eq!(quantile(&[], 0.5), 0.0);
    }

    #[test]
    fn a_stream_repeats_itself() {
        let draw = |seed| {
            let mut items: Vec<u32> = (0..20).collect();
            Stream::new(seed).shuffle(&mut items);
            items
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }
}
