//! Why an answer is what it is: one labelled line for each part, and the same as JSON.

use std::io::{self, Write};
use std::slice;

use kernelgauge_data::units::four_digits;
use kernelgauge_data::{Bytes, Point, Shift};
use kernelgauge_model::{Basis, Explanation, RegionError, Step};
use serde_json::{Map, Value, json};

/// Width of the label column.
const LABEL: usize = 10;

/// Width of a line.
const LINE: usize = 100;

pub fn write(explanation: &Explanation, out: &mut dyn Write) -> io::Result<()> {
    let nearest = explanation.nearest.iter();
    let nearest: Vec<String> =
        nearest.map(|(point, time)| format!("{} {time} measured", parameters(point))).collect();
    let mut steps: Vec<String> = explanation.steps.iter().map(step).collect();
    steps.push(format!("in all {}", explanation.prediction.time));
    labelled(out, "basis", &[basis(explanation)])?;
    if explanation.correction != 1.0 {
        labelled(out, "learned", slice::from_ref(&explanation.correction_kind))?;
    }
    labelled(out, "terms", &steps)?;
    if let Some(part) = bound_by(explanation) {
        labelled(out, "bound by", &[part.to_owned()])?;
    }
    labelled(out, "domain", slice::from_ref(&explanation.domain))?;
    labelled(out, "nearest", &nearest)?;
    let error = explanation.error.map(|(region, error)| held_out(region, &error));
    labelled(out, "error", error.as_slice())
}

pub fn json(explanation: &Explanation) -> Value {
    let terms: Vec<Value> = explanation
        .steps
        .iter()
        .map(|Step { name, detail, factor, shift }| {
            json!({ "name": name, "time_us": shift.us(), "factor": factor, "detail": detail })
        })
        .collect();
    let nearest: Vec<Value> = explanation
        .nearest
        .iter()
        .map(|(point, time)| {
            let fields = super::document::stated(point);
            let mut all: Map<String, Value> =
                fields.map(|(name, text)| (name.into_owned(), super::typed(text))).collect();
            all.insert("time_us".to_owned(), Value::from(time.us()));
            Value::Object(all)
        })
        .collect();
    let error = explanation.error.map(|(region, error)| {
        json!({
            "points_like_this": region,
            "points": error.points,
            "median": error.median,
            "p90": error.p90,
            "worst": error.worst,
            "mape": error.mape,
            "coverage": error.coverage,
        })
    });
    json!({
        "analytical_us": explanation.analytical.us(),
        "correction": explanation.correction,
        "correction_kind": explanation.correction_kind,
        "neighbours": explanation.neighbours,
        "terms": terms,
        "bound_by": bound_by(explanation),
        "domain": explanation.domain,
        "nearest": nearest,
        "held_out_error": error,
    })
}

/// The largest part of the analytical term; none where it has one part only.
fn bound_by(explanation: &Explanation) -> Option<&'static str> {
    /// Steps that are no part of it.
    const OTHERS: [&str; 6] = [
        "overlapped",
        "rounded",
        "measured neighbours",
        "learned regression",
        "published model",
        "replaced by the measurement",
    ];
    let steps = explanation.steps.iter();
    let parts: Vec<&Step> = steps
        .filter(|step| step.factor.is_none() && step.shift.get() > 0)
        .filter(|step| !OTHERS.contains(&step.name))
        .collect();
    let largest = parts.iter().max_by_key(|step| step.shift.get())?;
    (parts.len() > 1).then_some(largest.name)
}

/// `hybrid: analytical 170.2 µs x correction 0.981`
fn basis(explanation: &Explanation) -> String {
    let name = explanation.prediction.basis.name();
    let Explanation { analytical, correction, neighbours, .. } = explanation;
    let lead = match explanation.prediction.basis {
        Basis::Measured => format!("{name}; without it: "),
        _ => format!("{name}: "),
    };
    let mut text = format!("{lead}analytical {analytical}");
    if *correction != 1.0 {
        text += &format!(" x correction {}", four_digits(*correction));
    }
    if *neighbours != 1.0 {
        text += &format!(" x measured neighbours {}", four_digits(*neighbours));
    }
    text
}

/// `memory 26.5 µs (...)`, `overlapped -26.5 µs`, `learned correction x 0.9837 (-2.9 µs)`
fn step(Step { name, detail, factor, shift }: &Step) -> String {
    let detail = detail.as_deref();
    match (factor, detail) {
        (Some(factor), None) => format!("{name} x {} ({shift})", four_digits(*factor)),
        (Some(factor), Some(detail)) => {
            format!("{name} x {} ({shift}, {detail})", four_digits(*factor))
        }
        (None, None) => format!("{name} {}", plain(*shift)),
        (None, Some(detail)) => format!("{name} {} ({detail})", plain(*shift)),
    }
}

/// A sign only where time is saved.
fn plain(shift: Shift) -> String {
    if shift.get() < 0 { shift.to_string() } else { shift.size().to_string() }
}

fn held_out(region: &str, error: &RegionError) -> String {
    let percent = |share: f64| four_digits((share * 1e4).round() / 100.0);
    // The 90th percentile of a few points is their worst.
    let p90 = match error.points {
        0..10 => String::new(),
        _ => format!(", p90 {} %", percent(error.p90)),
    };
    let (median, points) = (percent(error.median), error.points);
    format!("{region}, held out: median {median} %{p90} (n={points})")
}

/// `m=4096 n=4096 k=4096`: without what is neutral.
fn parameters(point: &Point) -> String {
    let neutral = [("batch", 1), ("nodes", 1), ("skew", 0), ("window", 0)];
    let values = point.parameters();
    let pairs: Vec<String> = point
        .parameter_names()
        .into_iter()
        .zip(values.iter().copied())
        .filter(|pair| !neutral.contains(pair))
        .map(|(name, value)| match name {
            "bytes" if value >= 1024 => format!("{name}={value} ({})", Bytes::new(value)),
            _ => format!("{name}={value}"),
        })
        .collect();
    pairs.join(" ")
}

/// A label and `parts` joined by ` · `, broken between parts where the line gets too long, and
/// within a part, between words, where it has to be.
fn labelled(out: &mut dyn Write, label: &str, parts: &[String]) -> io::Result<()> {
    if parts.is_empty() {
        return Ok(());
    }
    write!(out, "{label:<LABEL$}")?;
    let mut at = LABEL;
    for (index, part) in parts.iter().enumerate() {
        let separator = if index > 0 { " · " } else { "" };
        let fits = at + separator.chars().count() + part.chars().count() <= LINE;
        if index > 0 && !fits {
            write!(out, "\n{:LABEL$}", "")?;
            at = LABEL;
        } else {
            write!(out, "{separator}")?;
            at += separator.chars().count();
        }
        at = write_words(out, part, at)?;
    }
    writeln!(out)
}

/// Writes `text` from column `at` on; returns the column after it.
fn write_words(out: &mut dyn Write, text: &str, mut at: usize) -> io::Result<usize> {
    for (index, word) in text.split(' ').enumerate() {
        let length = word.chars().count();
        if index > 0 && at + 1 + length > LINE {
            write!(out, "\n{:LABEL$}", "")?;
            at = LABEL;
        } else if index > 0 {
            write!(out, " ")?;
            at += 1;
        }
        write!(out, "{word}")?;
        at += length;
    }
    Ok(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_parts_and_words() {
        let shown = |parts: &[&str]| {
            let parts: Vec<String> = parts.iter().map(|part| (*part).to_owned()).collect();
            let mut out = Vec::new();
            labelled(&mut out, "terms", &parts).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(shown(&["launch 2 µs", "memory 3 µs"]), "terms     launch 2 µs · memory 3 µs\n");
        let long = "word ".repeat(30);
        for line in shown(&["launch 2 µs", long.trim_end()]).lines() {
            assert!(line.chars().count() <= LINE, "{line}");
        }
        assert_eq!(shown(&[]), "");
    }
}
