//! Bandwidth and arithmetic columns, recomputed from the point and its time.
//!
//! A table whose numbers disagree with each other has a unit wrong somewhere, and nobody but
//! its author knows where.

use crate::import::own_csv::names::Rate;
use crate::import::printed::Printed;
use crate::point::Point;
use crate::units::{Nanos, four_digits};

/// Disagreement beyond rounding that is still accepted.
const TOLERANCE: f64 = 0.02;

/// A stated rate that does not follow from the point and its time.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Disagreement {
    /// `bw_MBps is 11118.15, but 65536 bytes in 5.621 µs are 11660`.
    pub reason: String,
    /// Which unit would agree, if one does.
    pub hint: String,
}

/// Compares the `stated` rate of column `name` with what follows from `point` and `time`.
/// Nothing is said where it cannot be computed or the cell is no number.
pub(super) fn check(
    name: &str,
    rate: Rate,
    stated: &str,
    point: &Point,
    time: Nanos,
) -> Option<Disagreement> {
    let (amount, counted) = amount(rate, point)?;
    let unit = match rate {
        Rate::Bytes { unit, .. } | Rate::Flops { unit } => unit,
    };
    let follows = amount / time.seconds() / unit;
    let printed = Printed::parse(stated)?;
    let range = (1.0 - TOLERANCE) * printed.low()..=(1.0 + TOLERANCE) * printed.high();
    if range.contains(&follows) || printed.value == 0.0 {
        return None;
    }
    let reason = format!(
        "{name} is {stated}, but {} {counted} in {time} make it {}",
        four_digits(amount),
        four_digits(follows)
    );
    Some(Disagreement { reason, hint: hint(name, follows / printed.value) })
}

/// How much of what the rate counts per second.
fn amount(rate: Rate, point: &Point) -> Option<(f64, &'static str)> {
    let (amount, counted) = match (rate, point) {
        (Rate::Bytes { bus: false, .. }, Point::Copy(copy)) => (copy.bytes as f64, "bytes"),
        (Rate::Bytes { bus, .. }, Point::Collective(collective)) => {
            let bytes = collective.bytes as f64;
            let factor = collective.collective.bus_factor(collective.ranks);
            (if bus { bytes * factor } else { bytes }, "bytes")
        }
        (Rate::Bytes { bus: false, .. }, Point::Memory(_)) => (point.work().bytes(), "bytes"),
        (Rate::Bytes { bus: false, .. }, Point::Custom(custom)) => {
            let bytes = custom.parameters.iter().find(|(name, _)| name == "bytes")?;
            (bytes.1 as f64, "bytes")
        }
        (Rate::Flops { .. }, Point::Gemm(_)) => (point.work().flops, "operations"),
        _ => return None,
    };
    Some((amount, counted))
}

/// What `ratio` between the computed and the stated rate suggests.
fn hint(name: &str, ratio: f64) -> String {
    const FACTORS: [(f64, &str); 9] = [
        (1.024, "KiB/s"),
        (1.048_576, "MiB/s"),
        (1.073_741_824, "GiB/s"),
        (1_024.0, "a unit 1024 times larger"),
        (1_000.0, "a unit 1000 times larger"),
        (1.0 / 1_024.0, "a unit 1024 times smaller"),
        (1.0 / 1_000.0, "a unit 1000 times smaller"),
        (8.0, "bytes, although the name says bits"),
        (0.125, "bits, although the name says bytes"),
    ];
    let near = |factor: &f64| (ratio / factor - 1.0).abs() < 0.005;
    match FACTORS.iter().find(|(factor, _)| near(factor)) {
        Some((_, unit)) => format!("the values of `{name}` fit {unit}: correct its name"),
        None => format!("correct the unit of `{name}` or of the time column, or remove it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point::{CopyDirection, CopyPoint};

    fn copy(stated: &str) -> Option<Disagreement> {
        let direction = CopyDirection::DeviceToDevice;
        let point = Point::Copy(CopyPoint { direction, pinned: false, bytes: 65_536 });
        let rate = Rate::Bytes { unit: 1e6, bus: false };
        check("bw_MBps", rate, stated, &point, Nanos::new(5_621))
    }

    #[test]
    fn binary_units_under_a_decimal_name_are_told() {
        let found = copy("11118.15").unwrap();
        assert!(found.reason.contains("bw_MBps is 11118.15, but"), "{}", found.reason);
        assert!(found.hint.contains("MiB/s"), "{}", found.hint);
        assert!(copy("11.66").unwrap().hint.contains("1000 times larger"));
        assert!(copy("93300").unwrap().hint.contains("bits"));
        assert!(copy("20000").unwrap().hint.contains("or of the time column"));
    }

    #[test]
    fn rounding_is_no_disagreement() {
        for stated in ["11659.1", "11500", "1e4", "n/a", ""] {
            assert_eq!(copy(stated), None, "{stated}");
        }
    }
}
