//! The ops of a workload for people, 100 columns wide.

use std::collections::BTreeMap;
use std::io::{self, Write};

use kernelgauge_data::{Family, Nanos, Point};
use kernelgauge_model::{PredictError, Prediction};
use kernelgauge_trace::ops::{Distinct, Totals, totals};

use super::answers::Answers;
use crate::terminal::plain;

pub fn write(
    lines: &[Distinct],
    answers: &Answers,
    top: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let model = if answers.is_some() { format!(" {:>10}", "model") } else { String::new() };
    writeln!(
        out,
        "{:>7} {:>10} {:>10}{model}  {:<10} {:<52}",
        "calls", "device", "each", "family", "point"
    )?;
    for (place, line) in lines.iter().enumerate().take(top) {
        row(line, answers, place, out)?;
    }
    if let Some(more) = lines.len().checked_sub(top).filter(|&more| more > 0) {
        writeln!(out, "and {more} more ops (--top, --format csv)")?;
    }
    coverage(lines, out)?;
    waiting(lines, out)?;
    agreement(lines, answers, out)
}

fn row(line: &Distinct, answers: &Answers, place: usize, out: &mut dyn Write) -> io::Result<()> {
    let each = line.device.filter(|_| line.calls > 0);
    let each = each.map(|time| Nanos::new(time.get() / line.calls));
    let time = |time: Option<Nanos>| time.map_or("-".to_owned(), |time| time.to_string());
    let model = answers.as_ref().map_or(String::new(), |answers| {
        let answer = answers[place].as_ref().and_then(|answer| answer.as_ref().ok());
        format!(" {:>10}", time(answer.map(|answer| answer.time)))
    });
    let (family, what) = match &line.point {
        Ok(point) => (point.family().name(), without_family(point)),
        Err(why) => ("-", format!("{} {}: {why}", plain(&line.name, 44), plain(&line.shapes, 30))),
    };
    writeln!(
        out,
        "{:>7} {:>10} {:>10}{model}  {family:<10} {}",
        line.calls,
        time(line.device),
        time(each),
        plain(&what, 96),
    )
}

/// `bf16 batch=1 m=4096 n=4096 k=4096`: the family has a column of its own.
fn without_family(point: &Point) -> String {
    let text = point.to_string();
    text.split_once(' ').map_or(text.clone(), |(_, rest)| rest.to_owned())
}

fn share(part: f64, whole: f64) -> String {
    if whole > 0.0 { format!("{:.1} %", 100.0 * part / whole) } else { "-".to_owned() }
}

fn line(name: &str, sum: &Totals, all: &Totals, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{name:<12} {:>9} calls {:>8}   {:>10} on the device {:>8}",
        sum.calls,
        share(sum.calls as f64, all.calls as f64),
        sum.device.to_string(),
        share(sum.device.as_f64(), all.device.as_f64()),
    )
}

fn coverage(lines: &[Distinct], out: &mut dyn Write) -> io::Result<()> {
    let all = totals(lines.iter());
    writeln!(out)?;
    let mut families: BTreeMap<Option<Family>, Vec<&Distinct>> = BTreeMap::new();
    for line in lines {
        let family = line.point.as_ref().ok().map(Point::family);
        families.entry(family).or_default().push(line);
    }
    for (family, lines) in families.iter().rev() {
        let name = family.map_or("uncovered", Family::name);
        line(name, &totals(lines.iter().copied()), &all, out)?;
    }
    writeln!(
        out,
        "covered      {} of calls, {} of the time on the device",
        share(all.covered_calls as f64, all.calls as f64),
        share(all.covered_device.as_f64(), all.device.as_f64()),
    )
}

/// The model's sum beside the recorded one, over what it answers. Collectives are left out:
/// their recorded time includes waiting.
fn agreement(lines: &[Distinct], answers: &Answers, out: &mut dyn Write) -> io::Result<()> {
    let Some(answers) = answers else { return Ok(()) };
    let (mut model, mut recorded, mut answered) = (0.0, 0.0, 0);
    for (line, answer) in lines.iter().zip(answers) {
        let Some(Ok(answer)) = answer else { continue };
        answered += 1;
        let waits = matches!(line.point, Ok(Point::Collective(_)));
        if let Some(device) = line.device.filter(|_| !waits) {
            recorded += device.as_f64();
            model += answer.time.as_f64() * line.calls as f64;
        }
    }
    refusals(answers, out)?;
    writeln!(
        out,
        "model        answers {answered} of {} ops; without collectives {} against {} recorded",
        lines.len(),
        Nanos::saturating(model),
        Nanos::saturating(recorded),
    )
}

/// Why the model does not answer, the most frequent reasons first.
fn refusals(
    answers: &[Option<Result<Prediction, PredictError>>],
    out: &mut dyn Write,
) -> io::Result<()> {
    const SHOWN: usize = 4;
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for error in answers.iter().flatten().filter_map(|answer| answer.as_ref().err()) {
        *reasons.entry(error.to_string()).or_default() += 1;
    }
    let mut reasons: Vec<(usize, String)> =
        reasons.into_iter().map(|(reason, count)| (count, reason)).collect();
    reasons.sort_by(|a, b| (b.0, &a.1).cmp(&(a.0, &b.1)));
    for (count, reason) in reasons.iter().take(SHOWN) {
        writeln!(out, "no answer    {count} ops: {reason}")?;
    }
    match reasons.len().checked_sub(SHOWN) {
        Some(more) if more > 0 => {
            writeln!(out, "no answer    and {more} more reasons (--format json)")
        }
        _ => Ok(()),
    }
}

/// Recorded collectives wait for other ranks, and models do not.
fn waiting(lines: &[Distinct], out: &mut dyn Write) -> io::Result<()> {
    let collective = |line: &&Distinct| matches!(line.point, Ok(Point::Collective(_)));
    match lines.iter().find(collective) {
        Some(_) => writeln!(
            out,
            "collectives  their recorded time includes waiting for other ranks (`predict inspect`)"
        ),
        None => Ok(()),
    }
}
