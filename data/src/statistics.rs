//! Order statistics of samples.
//!
//! Left to others: deciding when enough samples were taken (`kernelgauge-calibrate`).

use crate::measurement::Spread;
use crate::units::Nanos;

/// The median of `samples` and their spread; none without samples.
///
/// Quantiles interpolate linearly between order statistics (type 7 of Hyndman and Fan 1996);
/// the standard deviation is the sample's, with `n - 1`, and 0 for a single sample.
pub fn summarise(samples: &[Nanos]) -> Option<(Nanos, Spread)> {
    let mut sorted: Vec<f64> = samples.iter().map(|sample| sample.as_f64()).collect();
    sorted.sort_by(f64::total_cmp);
    let at = |share| quantile(&sorted, share).map(Nanos::saturating);
    let (mean, stdev) = mean_and_stdev(&sorted);
    let spread = Spread {
        min: at(0.0)?,
        p10: at(0.1)?,
        q1: at(0.25)?,
        q3: at(0.75)?,
        p90: at(0.9)?,
        max: at(1.0)?,
        mean: Nanos::saturating(mean),
        stdev: Nanos::saturating(stdev),
    };
    Some((at(0.5)?, spread))
}

/// The quantile `share` (0 to 1) of ascending values by linear interpolation (type 7); none of
/// an empty slice.
pub fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let position = share.clamp(0.0, 1.0) * last as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(last);
    let weight = position - below as f64;
    Some(sorted[below] + weight * (sorted[above] - sorted[below]))
}

/// The median of values in any order; none of an empty slice.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile(&sorted, 0.5)
}

fn mean_and_stdev(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    if values.len() < 2 {
        return (mean, 0.0);
    }
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (mean, (squares / (count - 1.0)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_agree_with_numpy() {
        // numpy.percentile([1, 2, 4, 8, 16, 100], [10, 25, 50, 75, 90]) and std(ddof=1).
        let samples = [16, 1, 100, 4, 8, 2].map(|ns| Nanos::new(ns * 1_000));
        let (median, spread) = summarise(&samples).unwrap();
        assert_eq!(median, Nanos::new(6_000));
        assert_eq!(spread.p10, Nanos::new(1_500));
        assert_eq!(spread.q1, Nanos::new(2_500));
        assert_eq!(spread.q3, Nanos::new(14_000));
        assert_eq!(spread.p90, Nanos::new(58_000));
        assert_eq!((spread.min, spread.max), (Nanos::new(1_000), Nanos::new(100_000)));
        assert_eq!(spread.mean, Nanos::new(21_833));
        assert_eq!(spread.stdev, Nanos::new(38_680));
    }

    #[test]
    fn one_sample_has_no_deviation_and_none_has_no_median() {
        let (median, spread) = summarise(&[Nanos::new(7)]).unwrap();
        assert_eq!((median, spread.stdev), (Nanos::new(7), Nanos::new(0)));
        assert_eq!(summarise(&[]), None);
    }
}
