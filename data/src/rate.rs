//! How fast a time means that the hardware runs: TFLOP/s, GB/s, bus bandwidth.

use std::fmt;

use crate::dtype::Dtype;
use crate::machine::Machine;
use crate::point::Point;
use crate::units::{Bytes, Nanos, four_digits};

/// The rate people judge an op of its kind by. Bandwidths are decimal GB/s.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rate {
    /// Arithmetic of the op's shape over time.
    Arithmetic {
        /// TFLOP/s, or TOP/s for integers.
        tflop_s: f64,
        /// Share of the published dense peak of the dtype, where there is one.
        of_peak: Option<f64>,
    },
    /// Compulsory traffic of the op's shape over time; for copies the bytes copied.
    Traffic {
        /// GB/s.
        gb_s: f64,
        /// Share of the published memory bandwidth, where traffic is bound by it.
        of_peak: Option<f64>,
    },
    /// Bandwidths as nccl-tests defines them.
    Collective {
        /// Size over time.
        algorithm_gb_s: f64,
        /// Algorithm bandwidth times the collective's bus factor.
        bus_gb_s: f64,
    },
}

impl Rate {
    /// The rate of `point` on `machine` if it takes `time`; none for a zero time and for custom
    /// ops, whose work nobody knows.
    pub fn of(point: &Point, time: Nanos, machine: &Machine) -> Option<Rate> {
        if time.get() == 0 {
            return None;
        }
        match point {
            Point::Gemm(gemm) => Some(arithmetic(point, gemm.dtype, time, machine)),
            Point::Attention(attention) => Some(arithmetic(point, attention.dtype, time, machine)),
            Point::Memory(_) => {
                let gb_s = point.work().bytes() / time.as_f64();
                let of_peak = machine.hardware.memory_gb_s.map(|peak| gb_s / peak);
                Some(Rate::Traffic { gb_s, of_peak })
            }
            // Reuse in caches makes the traffic of a bag no measure of memory.
            Point::Embedding(_) => {
                Some(Rate::Traffic { gb_s: point.work().bytes() / time.as_f64(), of_peak: None })
            }
            Point::Copy(copy) => {
                let gb_s = Bytes::new(copy.bytes).per(time)?;
                Some(Rate::Traffic { gb_s, of_peak: None })
            }
            Point::Collective(collective) => {
                let algorithm_gb_s = Bytes::new(collective.bytes).per(time)?;
                let factor = collective.collective.bus_factor(collective.ranks);
                Some(Rate::Collective { algorithm_gb_s, bus_gb_s: algorithm_gb_s * factor })
            }
            Point::Custom(_) => None,
        }
    }

    /// The names and values in JSON and CSV.
    pub fn fields(&self) -> Vec<(&'static str, f64)> {
        match *self {
            Rate::Arithmetic { tflop_s, .. } => vec![("tflop_s", tflop_s)],
            Rate::Traffic { gb_s, .. } => vec![("gb_s", gb_s)],
            Rate::Collective { algorithm_gb_s, bus_gb_s } => {
                vec![("algbw_gb_s", algorithm_gb_s), ("busbw_gb_s", bus_gb_s)]
            }
        }
    }
}

fn arithmetic(point: &Point, dtype: Dtype, time: Nanos, machine: &Machine) -> Rate {
    let tflop_s = point.work().flops / time.as_f64() / 1e3;
    let peak = machine.hardware.peak_tflop_s.get(dtype.name());
    Rate::Arithmetic { tflop_s, of_peak: peak.map(|peak| tflop_s / peak) }
}

/// `818 TFLOP/s, 83 % of peak`; three significant digits.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = |of_peak: Option<f64>| match of_peak {
            Some(share) => format!(", {} % of peak", three_digits(share * 100.0)),
            None => String::new(),
        };
        match *self {
            Rate::Arithmetic { tflop_s, of_peak } => {
                write!(
                    f,
                    "{}{}",
                    scaled(tflop_s, ["TFLOP/s", "GFLOP/s", "MFLOP/s"]),
                    share(of_peak)
                )
            }
            Rate::Traffic { gb_s, of_peak } => {
                write!(f, "{}{}", scaled(gb_s, ["GB/s", "MB/s", "kB/s"]), share(of_peak))
            }
            Rate::Collective { algorithm_gb_s, bus_gb_s } => write!(
                f,
                "algorithm bandwidth {}, bus bandwidth {}",
                scaled(algorithm_gb_s, ["GB/s", "MB/s", "kB/s"]),
                scaled(bus_gb_s, ["GB/s", "MB/s", "kB/s"])
            ),
        }
    }
}

/// `value` in the first of `units`, each a thousand of the next, that needs no two zeros in
/// front.
fn scaled(mut value: f64, units: [&str; 3]) -> String {
    let mut unit = units[0];
    for smaller in &units[1..] {
        if value >= 0.1 || value <= 0.0 {
            break;
        }
        (value, unit) = (value * 1e3, smaller);
    }
    format!("{} {unit}", three_digits(value))
}

/// `value` with three significant digits; whole where it has more before the point.
fn three_digits(value: f64) -> String {
    if value >= 100.0 {
        return format!("{value:.0}");
    }
    let magnitude = if value > 0.0 { value.log10().floor() } else { 0.0 };
    let scale = 10_f64.powf(2.0 - magnitude);
    four_digits((value * scale).round() / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_rate_has_a_smaller_unit() {
        let units = ["TFLOP/s", "GFLOP/s", "MFLOP/s"];
        for (value, shown) in [
            (817.7, "818 TFLOP/s"),
            (0.1, "0.1 TFLOP/s"),
            (0.0666, "66.6 GFLOP/s"),
            (8.06e-7, "0.806 MFLOP/s"),
            (0.0, "0 TFLOP/s"),
        ] {
            assert_eq!(scaled(value, units), shown);
        }
    }

    #[test]
    fn rates_have_three_digits() {
        for (value, shown) in
            [(817.7, "818"), (1234.6, "1235"), (82.66, "82.7"), (0.012_34, "0.0123"), (0.0, "0")]
        {
            assert_eq!(three_digits(value), shown);
        }
    }
}
