//! The fields that a batch appends to each row, as bytes.
//!
//! Numbers are written by hand: formatting through `std::fmt` would take a third of the time of
//! a row.

use kernelgauge_data::Nanos;

use super::desk::Answered;

/// Names of the appended fields, in order. An input column of one of these names is kept as
/// `given_<name>`.
pub const APPENDED: [&str; 8] =
    ["time_us", "low_us", "high_us", "domain", "basis", "machine", "answered_by", "error"];

/// The CSV cells of an answer, the first comma included, without the line's end.
pub fn push_csv_answer(out: &mut Vec<u8>, answer: &Answered<'_>) {
    let Answered { prediction, machine, answered_by } = answer;
    for time in [prediction.time, prediction.low, prediction.high] {
        out.push(b',');
        push_microseconds(out, time);
    }
    for word in [prediction.domain.name(), prediction.basis.name()] {
        out.push(b',');
        out.extend_from_slice(word.as_bytes());
    }
    out.push(b',');
    push_csv_text(out, machine);
    out.push(b',');
    out.extend_from_slice(answered_by.map_or("", |dtype| dtype.name()).as_bytes());
    out.push(b',');
}

/// The CSV cells of a row without an answer.
pub fn push_csv_problem(out: &mut Vec<u8>, problem: &str) {
    out.extend_from_slice(b",,,,,,,,");
    push_csv_text(out, problem);
}

/// The JSON members of an answer, without a leading comma or closing brace.
pub fn push_json_answer(out: &mut Vec<u8>, answer: &Answered<'_>) {
    let Answered { prediction, machine, answered_by } = answer;
    out.extend_from_slice(br#""time_us":"#);
    push_microseconds(out, prediction.time);
    out.extend_from_slice(br#","low_us":"#);
    push_microseconds(out, prediction.low);
    out.extend_from_slice(br#","high_us":"#);
    push_microseconds(out, prediction.high);
    out.extend_from_slice(br#","domain":""#);
    out.extend_from_slice(prediction.domain.name().as_bytes());
    out.extend_from_slice(br#"","basis":""#);
    out.extend_from_slice(prediction.basis.name().as_bytes());
    out.extend_from_slice(br#"","machine":"#);
    push_json_text(out, machine);
    out.extend_from_slice(br#","answered_by":"#);
    match answered_by {
        Some(dtype) => push_json_text(out, dtype.name()),
        None => out.extend_from_slice(b"null"),
    }
    out.extend_from_slice(br#","error":null"#);
}

/// The JSON members of a row without an answer.
pub fn push_json_problem(out: &mut Vec<u8>, problem: &str) {
    for name in &APPENDED[..APPENDED.len() - 1] {
        out.extend_from_slice(format!("\"{name}\":null,").as_bytes());
    }
    out.extend_from_slice(br#""error":"#);
    push_json_text(out, problem);
}

/// A cell, quoted only where it must be.
pub fn push_csv_text(out: &mut Vec<u8>, text: &str) {
    if !text.contains([',', '"', '\n', '\r']) {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    out.push(b'"');
    out.extend_from_slice(text.replace('"', "\"\"").as_bytes());
    out.push(b'"');
}

/// A JSON string.
pub fn push_json_text(out: &mut Vec<u8>, text: &str) {
    // Writing to a vector cannot fail, and a string has no float to refuse.
    let _ = serde_json::to_writer(out, text);
}

/// A time in microseconds with as many decimals as it needs, at most three.
fn push_microseconds(out: &mut Vec<u8>, time: Nanos) {
    let (whole, thousandths) = (time.get() / 1_000, time.get() % 1_000);
    push_integer(out, whole);
    if thousandths > 0 {
        let digits = [thousandths / 100, thousandths / 10 % 10, thousandths % 10];
        let used = 3 - digits.iter().rev().take_while(|digit| **digit == 0).count();
        out.push(b'.');
        out.extend(digits[..used].iter().map(|digit| b'0' + *digit as u8));
    }
}

fn push_integer(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use kernelgauge_data::fields;

    use super::*;

    #[test]
    fn times_are_written_as_the_data_sets_write_them() {
        for nanos in [0, 7, 70, 700, 999, 1_000, 168_069, 1_234_500, 10_000_000, u64::MAX] {
            let mut out = Vec::new();
            push_microseconds(&mut out, Nanos::new(nanos));
            let text = fields::microseconds(Nanos::new(nanos));
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
    }

    #[test]
    fn text_survives_either_format() {
        let nasty = "a \"b\",\nc";
        let mut csv = Vec::new();
        push_csv_text(&mut csv, nasty);
        assert_eq!(csv, b"\"a \"\"b\"\",\nc\"");
        let mut json = Vec::new();
        push_json_text(&mut json, nasty);
        assert_eq!(serde_json::from_slice::<String>(&json).unwrap(), nasty);
    }
}
