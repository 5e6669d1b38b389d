//! Rewriting a JSON value that `serde_json` would refuse for harmless reasons.

use crate::recording::Oddities;

/// Words for what JSON has no number for, as Python, C and C++ write them.
const NO_NUMBERS: [&str; 8] =
    ["-Infinity", "Infinity", "-inf", "inf", "-nan", "nan", "-NaN", "NaN"];

/// The value with control characters in texts escaped and words such as `NaN` made texts, both
/// counted.
pub(super) fn mended(text: &str, oddities: &mut Oddities) -> String {
    let mut mended = String::with_capacity(text.len() + 16);
    let mut in_text = false;
    let mut escaped = false;
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        if in_text {
            let control = u32::from(letter) < 0x20;
            if control {
                oddities.control_characters += 1;
                // A backslash before it begins the escape that takes its place.
                mended.push_str(&format!(
                    "{}u{:04x}",
                    if escaped { "" } else { "\\" },
                    letter as u32
                ));
            } else {
                mended.push(letter);
            }
            in_text = escaped || letter != '"';
            escaped = !escaped && letter == '\\';
        } else if let Some(word) = NO_NUMBERS.iter().find(|word| rest.starts_with(**word)) {
            oddities.no_numbers += 1;
            mended.push('"');
            mended.push_str(word);
            mended.push('"');
            rest = rest.get(word.len()..).unwrap_or_default();
            continue;
        } else {
            in_text = letter == '"';
            mended.push(letter);
        }
        rest = rest.get(letter.len_utf8()..).unwrap_or_default();
    }
    mended
}
