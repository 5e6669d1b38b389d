//! Draws from a Zipf law over any number of rows in constant time.

use crate::random::Random;

/// Ranks 1 to `count` with probability proportional to `rank^-exponent`, by rejection-inversion
/// (Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone discrete
/// distributions", 1996): exact, with about one uniform draw per rank, and no table.
#[derive(Debug, Clone, Copy)]
pub struct Zipf {
    count: f64,
    exponent: f64,
    low: f64,
    high: f64,
    shortcut: f64,
}

impl Zipf {
    /// The law over `count` ranks, at least one.
    pub fn new(count: u64, exponent: f64) -> Self {
        let count = count.max(1) as f64;
        let integral = |x| integral(x, exponent);
        Zipf {
            count,
            exponent,
            low: integral(1.5) - 1.0,
            high: integral(count + 0.5),
            shortcut: 2.0 - inverse(integral(2.5) - density(2.0, exponent), exponent),
        }
    }

    /// A rank.
    pub fn draw(&self, random: &mut Random) -> u64 {
        loop {
            let u = self.high + random.unit() * (self.low - self.high);
            let x = inverse(u, self.exponent);
            let rank = (x + 0.5).floor().clamp(1.0, self.count);
            let accepted = rank - x <= self.shortcut
                || u >= integral(rank + 0.5, self.exponent) - density(rank, self.exponent);
            if accepted {
                return rank as u64;
            }
        }
    }
}

/// `x^-exponent`
fn density(x: f64, exponent: f64) -> f64 {
    (-exponent * x.ln()).exp()
}

/// The integral of the density from 1 to `x`: `(x^(1-s) - 1) / (1-s)`, or `ln x` where `s = 1`.
fn integral(x: f64, exponent: f64) -> f64 {
    let log = x.ln();
    log * ratio_of_expm1((1.0 - exponent) * log)
}

/// The inverse of [`integral`].
fn inverse(value: f64, exponent: f64) -> f64 {
    // Rounding can push the argument of the logarithm below its pole.
    let t = (value * (1.0 - exponent)).max(-1.0);
    (ratio_of_ln_1p(t) * value).exp()
}

/// `(e^x - 1) / x`, continued to 1 at 0.
fn ratio_of_expm1(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.exp_m1() / x } else { 1.0 + x / 2.0 }
}

/// `ln(1 + x) / x`, continued to 1 at 0.
fn ratio_of_ln_1p(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.ln_1p() / x } else { 1.0 - x / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pearson's statistic of `draws` ranks against the law, cells of fewer than 5 expected
    /// draws pooled, and its degrees of freedom.
    fn chi_square(count: u64, exponent: f64, draws: usize) -> (f64, f64) {
        let law = Zipf::new(count, exponent);
        let mut random = Random::new(42);
        let mut seen = vec![0.0; count as usize];
        for _ in 0..draws {
            seen[law.draw(&mut random) as usize - 1] += 1.0;
        }
        let weights: Vec<f64> = (1..=count).map(|rank| (rank as f64).powf(-exponent)).collect();
        let total: f64 = weights.iter().sum();
        let (mut statistic, mut cells) = (0.0, 0.0);
        let (mut pooled_seen, mut pooled_expected) = (0.0, 0.0);
        for (seen, weight) in seen.iter().zip(&weights) {
            pooled_seen += seen;
            pooled_expected += draws as f64 * weight / total;
            if pooled_expected >= 5.0 {
                statistic += (pooled_seen - pooled_expected).powi(2) / pooled_expected;
                cells += 1.0;
                (pooled_seen, pooled_expected) = (0.0, 0.0);
            }
        }
        (statistic, cells - 1.0)
    }

    #[test]
    fn frequencies_are_those_of_the_law() {
        for (count, exponent) in
            [(1, 1.0), (2, 0.5), (50, 0.0), (50, 1.0), (1_000, 0.8), (1_000, 1.05), (300, 2.5)]
        {
            let (statistic, freedom) = chi_square(count, exponent, 100_000);
            // Mean plus five standard deviations of the chi-square law.
            let bound = freedom + 5.0 * (2.0 * freedom).sqrt();
            assert!(statistic <= bound, "{count}, {exponent}: {statistic} of {freedom}");
        }
    }

    #[test]
    fn huge_ranges_and_steep_laws_stay_in_range() {
        let mut random = Random::new(1);
        for exponent in [0.0, 0.999_999, 1.0, 1.000_001, 10.0] {
            let law = Zipf::new(1 << 40, exponent);
            assert!((0..1_000).all(|_| (1..=1 << 40).contains(&law.draw(&mut random))));
        }
    }
}
