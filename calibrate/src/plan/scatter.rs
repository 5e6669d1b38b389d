//! Evenly scattered parameter values: points of a box that no grid lines up with.
//!
//! Kernels behave differently at sizes that no tile divides, and those are what people ask
//! about; a grid of round sizes alone would never see them. Any prefix of the sequence covers
//! the box evenly, so a plan may take as many as its time allows.

/// The additive recurrence R_d (M. Roberts, "The unreasonable effectiveness of quasirandom
/// sequences", 2018): coordinate `j` of element `i` is the fraction of
/// `1/2 + (i + 1) / g^(j + 1)`, where `g` is the positive root of `g^(d + 1) = g + 1`.
#[derive(Debug, Clone)]
pub struct Scatter<const D: usize> {
    steps: [f64; D],
    next: u32,
}

impl<const D: usize> Scatter<D> {
    /// The sequence from its start.
    pub fn new() -> Self {
        let mut root = 2.0_f64;
        // The map is a contraction; 40 rounds reach the last bit from any start.
        for _ in 0..40 {
            root = (1.0 + root).powf(1.0 / (D as f64 + 1.0));
        }
        Scatter { steps: std::array::from_fn(|j| root.powi(-(j as i32 + 1))), next: 0 }
    }
}

impl<const D: usize> Iterator for Scatter<D> {
    type Item = [f64; D];

    fn next(&mut self) -> Option<[f64; D]> {
        self.next += 1;
        let element = f64::from(self.next);
        Some(self.steps.map(|step| (0.5 + element * step).fract()))
    }
}

/// The integer at `position` (0 to 1) of the range from `low` to `high` on a logarithmic scale.
pub fn log_between(low: u64, high: u64, position: f64) -> u64 {
    let (from, to) = ((low as f64).ln(), (high as f64).ln());
    let value = (from + (to - from) * position).exp().round() as u64;
    value.clamp(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_prefix_covers_the_square() {
        for length in [64, 256] {
            let mut cells = [[0; 4]; 4];
            for [x, y] in Scatter::<2>::new().take(length) {
                cells[(x * 4.0) as usize][(y * 4.0) as usize] += 1;
            }
            let fair = length / 16;
            for count in cells.iter().flatten() {
                assert!((fair / 2..=fair * 2).contains(count), "{cells:?}");
            }
        }
    }

    #[test]
    fn logarithmic_ranges_keep_their_ends() {
        assert_eq!(log_between(1, 4096, 0.0), 1);
        assert_eq!(log_between(1, 4096, 1.0), 4096);
        assert_eq!(log_between(1, 4096, 0.5), 64);
        assert_eq!(log_between(8, 8, 0.7), 8);
    }
}
