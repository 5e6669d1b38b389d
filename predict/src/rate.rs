//! How fast a predicted time means the hardware runs: TFLOP/s, GB/s, bus bandwidth.

use kernelgauge_data::{Bytes, Dtype, Machine, Nanos, Point};

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
