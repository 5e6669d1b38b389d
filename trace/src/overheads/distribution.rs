//! A distribution of times, without its outliers.

use kernelgauge_data::Nanos;

/// A distribution of times. Those further than 1.5 times the distance of the quartiles from them
/// are set aside (Tukey's fences, as in the published method).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Distribution {
    /// How many there are.
    pub count: u64,
    /// How many were set aside.
    pub set_aside: u64,
    /// The mean.
    pub mean: Nanos,
    /// The standard deviation.
    pub deviation: Nanos,
    /// The lower quartile.
    pub lower_quartile: Nanos,
    /// The median.
    pub median: Nanos,
    /// The upper quartile.
    pub upper_quartile: Nanos,
}

impl Distribution {
    /// Of some times, in any order; zeros for none.
    pub fn of(mut times: Vec<Nanos>) -> Self {
        times.sort_unstable();
        let all = times.len();
        if all == 0 {
            return Distribution::default();
        }
        let (low, high) = (quantile(&times, 1, 4), quantile(&times, 3, 4));
        let reach = (high.get() - low.get()).saturating_mul(3) / 2;
        let from = low.get().saturating_sub(reach);
        let to = high.get().saturating_add(reach);
        times.retain(|time| (from..=to).contains(&time.get()));
        let count = times.len() as f64;
        let mean = times.iter().map(|time| time.as_f64()).sum::<f64>() / count;
        let squares: f64 = times.iter().map(|time| (time.as_f64() - mean).powi(2)).sum();
        Distribution {
            count: times.len() as u64,
            set_aside: (all - times.len()) as u64,
            mean: Nanos::saturating(mean),
            deviation: Nanos::saturating((squares / count).sqrt()),
            lower_quartile: quantile(&times, 1, 4),
            median: quantile(&times, 1, 2),
            upper_quartile: quantile(&times, 3, 4),
        }
    }
}

/// The element of sorted times of which `part` of `whole` elements are smaller.
fn quantile(times: &[Nanos], part: usize, whole: usize) -> Nanos {
    times.get((times.len() - 1) * part / whole).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outliers_are_set_aside_and_counted() {
        let times: Vec<Nanos> = [10, 11, 12, 13, 14, 900].map(Nanos::new).to_vec();
        let found = Distribution::of(times);
        assert_eq!((found.count, found.set_aside), (5, 1));
        assert_eq!((found.mean, found.median), (Nanos::new(12), Nanos::new(12)));
        assert_eq!(Distribution::of(Vec::new()), Distribution::default());
    }
}
