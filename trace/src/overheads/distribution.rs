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
        let (low, high) = (lower_quartile(&times), upper_quartile(&times));
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
            lower_quartile: lower_quartile(&times),
            median: at(&times, (times.len() - 1) / 2),
            upper_quartile: upper_quartile(&times),
        }
    }
}

/// Of elements that lie as near, the smaller one; of the upper quartile the larger one: were both
/// rounded down, one of two would be an outlier.
fn lower_quartile(times: &[Nanos]) -> Nanos {
    at(times, (times.len() - 1) / 4)
}

fn upper_quartile(times: &[Nanos]) -> Nanos {
    at(times, (3 * (times.len() - 1)).div_ceil(4))
}

fn at(times: &[Nanos], place: usize) -> Nanos {
    times.get(place).copied().unwrap_or_default()
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
        // Of two none is an outlier.
        let two = Distribution::of([5, 10].map(Nanos::new).to_vec());
        assert_eq!((two.count, two.set_aside), (2, 0));
        assert_eq!((two.lower_quartile, two.upper_quartile), (Nanos::new(5), Nanos::new(10)));
    }
}
