//! An answer for people: the time with its interval and rate, then what it rests on.

use std::io::{self, Write};

use kernelgauge_data::units::four_digits;
use kernelgauge_data::{Machine, Nanos};
use kernelgauge_model::{Basis, DomainStatus, Prediction};

use super::{Answer, explain};
use crate::rate::Rate;

pub fn write(answer: &Answer<'_>, out: &mut dyn Write) -> io::Result<()> {
    let prediction = &answer.prediction;
    let interval = interval(prediction.low, prediction.high);
    write!(out, "{}   (90 %: {interval})", prediction.time)?;
    if let Some(rate) = answer.rate() {
        write!(out, "   {}", rate_text(&rate))?;
    }
    writeln!(out)?;
    match &answer.explanation {
        Some(explanation) => explain::write(explanation, out),
        None => writeln!(out, "{}", rests_on(prediction, answer.machine)),
    }
}

/// `164 .. 173 µs`: one unit for both ends, the larger one's.
fn interval(low: Nanos, high: Nanos) -> String {
    let shown = high.to_string();
    let (high_text, unit) = shown.split_once(' ').unwrap_or((&shown, "ns"));
    let scale = match unit {
        "s" => 1e9,
        "ms" => 1e6,
        "µs" => 1e3,
        _ => 1.0,
    };
    format!("{} .. {high_text} {unit}", four_digits(low.as_f64() / scale))
}

fn rate_text(rate: &Rate) -> String {
    let share = |of_peak: Option<f64>| match of_peak {
        Some(share) => format!(", {} % of peak", three_digits(share * 100.0)),
        None => String::new(),
    };
    match *rate {
        Rate::Arithmetic { tflop_s, of_peak } => {
            format!("{} TFLOP/s{}", three_digits(tflop_s), share(of_peak))
        }
        Rate::Traffic { gb_s, of_peak } => {
            format!("{} GB/s{}", three_digits(gb_s), share(of_peak))
        }
        Rate::Collective { algorithm_gb_s, bus_gb_s } => format!(
            "algorithm bandwidth {} GB/s, bus bandwidth {} GB/s",
            three_digits(algorithm_gb_s),
            three_digits(bus_gb_s)
        ),
    }
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

fn rests_on(prediction: &Prediction, machine: &Machine) -> String {
    let what = match prediction.basis {
        Basis::Measured => "measured point of",
        Basis::Interpolated => "interpolated between measured points of",
        Basis::Hybrid => "analytical term times learned correction, fitted to",
        Basis::Learned => "learned regression alone, fitted to",
        Basis::Analytical => "analytical term alone, fitted to",
        Basis::Extrapolated => "extrapolated by the analytical term from",
        Basis::Reference => "published reference model, with the figures of",
    };
    let domain = match prediction.domain {
        DomainStatus::Inside => "",
        DomainStatus::Near => ", near but outside the measured domain",
        DomainStatus::Outside => ", outside the measured domain",
    };
    let software: Vec<String> =
        machine.software.iter().map(|(name, version)| format!("{name} {version}")).collect();
    let software = match software.as_slice() {
        [] => String::new(),
        some => format!(" ({})", some.join(", ")),
    };
    format!("{what} {}{software}{domain}", machine.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_has_one_unit() {
        let shown = |low, high| interval(Nanos::new(low), Nanos::new(high));
        assert_eq!(shown(164_000, 173_000), "164 .. 173 µs");
        assert_eq!(shown(998, 1_013), "0.998 .. 1.013 µs");
        assert_eq!(shown(7, 9), "7 .. 9 ns");
        assert_eq!(shown(1_500_000_000, 2_250_000_000), "1.5 .. 2.25 s");
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
