//! Bandwidth and arithmetic columns, recomputed from the point and its time.
//!
//! A table whose numbers disagree with each other has a unit wrong somewhere, and nobody but
//! its author knows where; which unit would agree can be told.

use crate::import::own_csv::rate_names::Rate;
use crate::import::printed::Printed;
use crate::point::{CopyDirection, Point};
use crate::table::shorten;
use crate::units::{Nanos, four_digits};

/// Disagreement beyond rounding that is still accepted.
const TOLERANCE: f64 = 0.02;

/// A stated rate that does not follow from the point and its time.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Disagreement {
    /// `bw_MBps is 11118.15, but 65536 bytes in 5.621 µs make it 11660`.
    pub reason: String,
    /// Which unit would agree, if one does.
    pub hint: String,
    /// Whether it is certain that something is wrong: what an unknown op moves need not be the
    /// size beside it, but no op is off by exactly the factor between two units.
    pub certain: bool,
}

/// Compares the `stated` rate of column `name` with what follows from `point` and `time`.
/// `sizes` are the bytes that the row states, in each reading of their unit; they serve points
/// that hold no size themselves. Nothing is said where the rate cannot be computed or the cell
/// is no number.
pub(super) fn check(
    name: &str,
    rate: Rate,
    stated: &str,
    point: &Point,
    sizes: &[f64],
    time: Nanos,
) -> Option<Disagreement> {
    let amounts = Amounts::of(rate, point, sizes)?;
    let printed = Printed::parse(stated).filter(|printed| printed.value != 0.0)?;
    let fits = |unit: f64, tolerance: f64| {
        let range = (1.0 - tolerance) * printed.low()..=(1.0 + tolerance) * printed.high();
        amounts.values.iter().any(|amount| range.contains(&(amount / time.seconds() / unit)))
    };
    let unit = match rate {
        Rate::Bytes { unit, .. } | Rate::Flops { unit } => unit,
    };
    let in_bits = matches!(rate, Rate::Bytes { or_bits: true, .. }) && fits(unit / 8.0, TOLERANCE);
    if fits(unit, TOLERANCE) || in_bits || is_count(rate, &amounts, printed) {
        return None;
    }
    let amount = amounts.values[0];
    let reason = format!(
        "{} is {}, but {} {} in {time} make it {}",
        shorten(name),
        shorten(stated),
        four_digits(amount),
        amounts.counted,
        four_digits(amount / time.seconds() / unit)
    );
    /// Units lie further apart than this.
    const SAME_UNIT: f64 = 0.005;
    let agrees = units(rate).iter().find(|(other, _)| fits(*other, SAME_UNIT));
    let hint = match agrees {
        Some((_, unit)) => {
            format!(
                "the values of `{}` fit {unit}: correct its name, or that of the time",
                shorten(name)
            )
        }
        None => {
            format!("correct the unit of `{}` or of the time column, or remove it", shorten(name))
        }
    };
    Some(Disagreement { reason, hint, certain: amounts.certain || agrees.is_some() })
}

/// How much of what a rate counts per second.
struct Amounts {
    /// In each way of counting it, the usual one first; never empty.
    values: Vec<f64>,
    counted: &'static str,
    /// Whether the op is known to move just that.
    certain: bool,
}

impl Amounts {
    fn of(rate: Rate, point: &Point, sizes: &[f64]) -> Option<Amounts> {
        let bytes = |values| Some(Amounts { values, counted: "bytes", certain: true });
        match (rate, point) {
            (Rate::Bytes { bus: false, .. }, Point::Copy(copy)) => {
                let size = copy.bytes as f64;
                let within = matches!(
                    copy.direction,
                    CopyDirection::DeviceToDevice | CopyDirection::HostToHost
                );
                // Within one memory many count what is read and what is written.
                bytes(if within { vec![size, 2.0 * size] } else { vec![size] })
            }
            (Rate::Bytes { bus, .. }, Point::Collective(collective)) => {
                let size = collective.bytes as f64;
                let factor = collective.collective.bus_factor(collective.ranks);
                bytes(vec![if bus { size * factor } else { size }])
            }
            (Rate::Bytes { bus: false, .. }, Point::Memory(_)) => bytes(vec![point.work().bytes()]),
            (Rate::Bytes { bus: false, .. }, _) if !sizes.is_empty() => {
                Some(Amounts { values: sizes.to_vec(), counted: "bytes", certain: false })
            }
            (Rate::Flops { .. }, Point::Gemm(_)) => {
                let values = vec![point.work().flops];
                Some(Amounts { values, counted: "operations", certain: true })
            }
            _ => None,
        }
    }
}

/// Whether a column `flops` holds the operations themselves rather than their rate.
fn is_count(rate: Rate, amounts: &Amounts, printed: Printed) -> bool {
    let Rate::Flops { unit } = rate else { return false };
    amounts.values.iter().any(|amount| (printed.value * unit / amount - 1.0).abs() < TOLERANCE)
}

/// A unit of a rate and its name.
type Unit = (f64, &'static str);

fn units(rate: Rate) -> &'static [Unit] {
    const KIB: f64 = 1024.0;
    const BYTES: [Unit; 14] = [
        (1.0, "B/s"),
        (1e3, "KB/s"),
        (1e6, "MB/s"),
        (1e9, "GB/s"),
        (1e12, "TB/s"),
        (KIB, "KiB/s"),
        (KIB * KIB, "MiB/s"),
        (KIB * KIB * KIB, "GiB/s"),
        (KIB * KIB * KIB * KIB, "TiB/s"),
        (0.125, "bits/s"),
        (0.125e3, "Kb/s (bits)"),
        (0.125e6, "Mb/s (bits)"),
        (0.125e9, "Gb/s (bits)"),
        (0.125e12, "Tb/s (bits)"),
    ];
    const FLOPS: [Unit; 5] =
        [(1.0, "FLOP/s"), (1e6, "MFLOP/s"), (1e9, "GFLOP/s"), (1e12, "TFLOP/s"), (1e15, "PFLOP/s")];
    match rate {
        Rate::Bytes { .. } => &BYTES,
        Rate::Flops { .. } => &FLOPS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point::{CopyPoint, CustomPoint};

    fn rate_of(name: &str) -> Rate {
        crate::import::own_csv::rate_names::rate(name).unwrap()
    }

    fn copy_of(direction: CopyDirection, name: &str, stated: &str) -> Option<Disagreement> {
        let point = Point::Copy(CopyPoint { direction, pinned: false, bytes: 65_536 });
        check(name, rate_of(name), stated, &point, &[], Nanos::new(5_621))
    }

    fn copy(name: &str, stated: &str) -> Option<Disagreement> {
        copy_of(CopyDirection::HostToDevice, name, stated)
    }

    #[test]
    fn the_unit_that_would_agree_is_told() {
        let found = copy("bw_MBps", "11118.15").unwrap();
        assert!(found.reason.contains("bw_MBps is 11118.15, but"), "{}", found.reason);
        // 65536 bytes in 5.621 µs are 11.659 GB/s, 10.858 GiB/s and 93.27 Gb/s.
        for (name, stated, unit) in [
            ("bw_MBps", "11118.15", " MiB/s"),
            ("bw_MBps", "11.66", " GB/s"),
            ("bw_MBps", "93270", " Mb/s (bits)"),
            ("bw_gbs", "10.858", " GiB/s"),
            ("bw_gbs", "93.27", " Gb/s (bits)"),
            ("bw_Gbps", "11.659", " GB/s"),
            ("bw_gib_s", "11.659", " GB/s"),
            ("bandwidth_gbs", "11659", " MB/s"),
            ("gbps", "10.858", " GiB/s"),
            ("bw_MBps", "20000", "or of the time column"),
        ] {
            let hint = copy(name, stated).unwrap().hint;
            assert!(hint.contains(unit), "{name} {stated}: {hint}");
        }
    }

    #[test]
    fn rounding_is_no_disagreement() {
        for stated in ["11659.1", "11500", "1e4", "n/a", "", "0"] {
            assert_eq!(copy("bw_MBps", stated), None, "{stated}");
        }
        // A name in one case does not tell bits from bytes.
        for stated in ["11.66", "93.27"] {
            assert_eq!(copy("gbps", stated), None, "{stated}");
        }
    }

    #[test]
    fn copies_within_a_memory_may_count_both_ways() {
        assert_eq!(copy_of(CopyDirection::DeviceToDevice, "bw_gbs", "23.318"), None);
        assert!(copy("bw_gbs", "23.318").is_some());
    }

    #[test]
    fn an_unknown_op_is_wrong_only_by_the_factor_of_a_unit() {
        let point = Point::Custom(CustomPoint { op: "x".to_owned(), parameters: Vec::new() });
        let found = |stated: &str| {
            let sizes = [65_536.0];
            check("bw_gbs", rate_of("bw_gbs"), stated, &point, &sizes, Nanos::new(5_621))
        };
        assert_eq!(found("11.66"), None);
        assert!(found("10.858").unwrap().certain);
        assert!(!found("34.977").unwrap().certain);
    }
}
