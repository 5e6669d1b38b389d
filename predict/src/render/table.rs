//! An answer for people: the time with its interval and rate, then what it rests on.

use std::io::{self, Write};

use kernelgauge_data::units::four_digits;
use kernelgauge_data::{Family, Machine, Nanos};
use kernelgauge_model::{Basis, DomainStatus};

use super::{Answer, explain};

/// Libraries that execute one family of ops only.
const LIBRARIES: [(&str, Family); 5] = [
    ("nccl", Family::Collective),
    ("rccl", Family::Collective),
    ("gemm", Family::Gemm),
    ("cublas", Family::Gemm),
    ("cublaslt", Family::Gemm),
];

pub fn write(answer: &Answer<'_>, out: &mut dyn Write) -> io::Result<()> {
    let prediction = &answer.prediction;
    let interval = interval(prediction.low, prediction.high);
    write!(out, "{}   (90 %: {interval})", prediction.time)?;
    if let Some(rate) = answer.rate() {
        write!(out, "   {rate}")?;
    }
    writeln!(out)?;
    if let (Some(_), Some((asked, used))) = (&answer.explanation, answer.answered_by) {
        writeln!(out, "dtype     {used} answers for {asked}, which was not measured")?;
    }
    match &answer.explanation {
        Some(explanation) => explain::write(explanation, out),
        None => writeln!(out, "{}", rests_on(answer)),
    }
}

/// `164 .. 173 µs`: one unit for both ends, the larger one's.
pub(super) fn interval(low: Nanos, high: Nanos) -> String {
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

fn rests_on(answer: &Answer<'_>) -> String {
    let Answer { prediction, machine, .. } = answer;
    let what = match prediction.basis {
        Basis::Measured => "measured point of",
        Basis::Interpolated => "interpolated between measured points of",
        Basis::Hybrid => "analytical term times learned correction, fitted to",
        Basis::Learned => "learned regression alone, fitted to",
        Basis::Analytical => "analytical term alone, fitted to",
        Basis::Borrowed => "measured on other machines, scaled to",
        Basis::Extrapolated => "extrapolated by the analytical term from",
        Basis::Described => "analytical term with the published figures of",
        Basis::Reference => "published reference model, with the figures of",
    };
    let domain = match prediction.domain {
        DomainStatus::Inside => "",
        DomainStatus::Near => ", near but outside the measured domain",
        DomainStatus::Outside => ", outside the measured domain",
    };
    let software: Vec<String> = software_of(answer.point.family(), machine)
        .map(|(name, version)| format!("{name} {version}"))
        .collect();
    let software = match software.as_slice() {
        [] => String::new(),
        some => format!(" ({})", some.join(", ")),
    };
    let dtype = match answer.answered_by {
        Some((asked, used)) => format!(", {used} answering for {asked}"),
        None => String::new(),
    };
    format!("{what} {}{software}{dtype}{domain}", machine.name)
}

/// The software that executes ops of `family`: a library of that family alone if the machine
/// states one, else what is no other family's.
fn software_of(family: Family, machine: &Machine) -> impl Iterator<Item = (&String, &String)> {
    let own = |name: &str| LIBRARIES.iter().find(|(known, _)| *known == name).map(|(_, of)| *of);
    let has_own = machine.software.keys().any(|name| own(name) == Some(family));
    machine.software.iter().filter(move |(name, _)| match own(name) {
        Some(of) => of == family,
        None => !has_own,
    })
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
    fn only_the_software_of_the_family_is_stated() {
        let software = [("nccl", "2.29.2"), ("vllm", "0.24.0")];
        let machine = Machine {
            name: "box".to_owned(),
            device: "GPU".to_owned(),
            count: 8,
            links: kernelgauge_data::Links::Nvswitch,
            software: software.map(|(name, version)| (name.to_owned(), version.to_owned())).into(),
            hardware: Default::default(),
        };
        let of = |family| software_of(family, &machine).map(|(name, _)| name.as_str()).collect();
        let names: [Vec<&str>; 2] = [of(Family::Gemm), of(Family::Collective)];
        assert_eq!(names, [["vllm"], ["nccl"]]);
    }
}
