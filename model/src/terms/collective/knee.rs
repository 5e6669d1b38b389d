//! A protocol as a smooth knee, and the two that a curve is the minimum of.
//!
//! `t = min_k (a_k^p + (bytes / rate_k)^p)^(1/p)`: a protocol for small messages and one for
//! large ones. With p = 1/2 a knee is the pipelining optimum `(sqrt(a) + sqrt(b S))²`; measured
//! curves of one node have p between 0.55 and 0.7. Over 700 posted and measured curves this form
//! left half the error of latency plus bandwidth and extrapolated best of all closed forms tried.
//! What measured points say beside it is left to `knots`.

use serde::{Deserialize, Serialize};

use crate::least_squares::{Bounded, minimise};
use crate::math::{exp, ln, round9};
use crate::terms::possible;

/// One protocol.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Knee {
    pub latency_ns: f64,
    pub bytes_per_ns: f64,
    pub sharpness: f64,
}

impl Knee {
    fn of(logs: &LogKnee) -> Self {
        Knee {
            latency_ns: round9(exp(logs.latency)),
            bytes_per_ns: round9(exp(logs.rate)),
            sharpness: round9(exp(logs.sharpness)),
        }
    }

    pub(super) fn logs(&self) -> LogKnee {
        LogKnee {
            latency: ln(self.latency_ns),
            rate: ln(self.bytes_per_ns),
            sharpness: ln(self.sharpness),
        }
    }

    pub(super) fn is_sound(&self) -> bool {
        possible(&[self.latency_ns, self.bytes_per_ns])
            && self.latency_ns > 0.0
            && self.bytes_per_ns > 0.0
            && (0.1..=10.0).contains(&self.sharpness)
    }
}

/// A protocol by the logarithms of its constants, which is how it is evaluated.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct LogKnee {
    latency: f64,
    rate: f64,
    sharpness: f64,
}

impl LogKnee {
    fn of(parameters: &[f64]) -> Self {
        LogKnee { latency: parameters[0], rate: parameters[1], sharpness: parameters[2] }
    }

    /// `ln((latency^p + transfer^p)^(1/p))`, the larger taken out so that nothing overflows.
    pub(super) fn log_ns(&self, log_bytes: f64) -> f64 {
        let transfer = log_bytes - self.rate;
        let p = exp(self.sharpness);
        let apart = (self.latency - transfer).abs();
        self.latency.max(transfer) + libm::log1p(exp(-p * apart)) / p
    }
}

/// Two knees through (log bytes, log time), or one twice where points are few.
pub(super) fn fit(points: &[(f64, f64)]) -> [Knee; 2] {
    let fastest = points.iter().map(|(_, log_ns)| *log_ns).fold(f64::INFINITY, f64::min);
    let rate = points.iter().map(|(bytes, log_ns)| bytes - log_ns).fold(f64::MIN, f64::max);
    let around = |at: f64, low: f64, start: f64, high: f64| {
        let [low, start, high] = [low, start, high].map(|factor| at + ln(factor));
        Bounded { low, start, high }
    };
    let latency = |start: f64| around(fastest, 0.125, start, 32.0);
    let bandwidth = |start: f64| around(rate, 1e-3, start, 2.0);
    let sharpness = match points.len() {
        // Hockney's line needs two points, a knee three.
        0..4 => Bounded::fixed(0.0),
        _ => Bounded::log(0.3, 0.65, 3.0),
    };
    let residuals = |knees: &[LogKnee]| -> Vec<f64> {
        let best =
            |bytes| knees.iter().map(|knee| knee.log_ns(bytes)).fold(f64::INFINITY, f64::min);
        points.iter().map(|(bytes, log_ns)| best(*bytes) - log_ns).collect()
    };
    let one = [latency(0.9), bandwidth(1.05), sharpness];
    let single = minimise(&one, &[], 30, |p| residuals(&[LogKnee::of(p)]));
    let knee = Knee::of(&LogKnee::of(&single.parameters));
    if points.len() < 9 {
        return [knee, knee];
    }
    // A protocol for small messages and one for large ones, crossing early, late or between.
    let pair = |small_rate: f64, large_latency: f64| {
        let large = [latency(large_latency), bandwidth(1.05), sharpness];
        [latency(0.9), bandwidth(small_rate), sharpness, large[0], large[1], large[2]]
    };
    let starts = [pair(0.02, 2.0), pair(0.3, 1.5)]
        .map(|bounds| bounds.iter().map(|bound| bound.start).collect::<Vec<f64>>());
    let double = minimise(&pair(0.1, 3.0), &starts, 30, |p| {
        residuals(&[LogKnee::of(&p[..3]), LogKnee::of(&p[3..])])
    });
    if double.loss < single.loss {
        let parameters = &double.parameters;
        [&parameters[..3], &parameters[3..]].map(|knee| Knee::of(&LogKnee::of(knee)))
    } else {
        [knee, knee]
    }
}
