//! One JSON value as strict JSON, where the writer was careless in ways that change no number.
//!
//! Called only for text that a strict parser refused, so it need not be fast. It walks over the
//! text without recursion.

/// A value, mended, and what was done to it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Mended {
    /// The value as strict JSON.
    pub text: String,
    /// Bytes of the original.
    pub used: usize,
    /// Raw control characters in texts, now escaped.
    pub control_characters: u64,
    /// Escapes that mean nothing, now texts as they stand, and halves of characters, now the
    /// replacement character.
    pub broken_characters: u64,
    /// `NaN` and infinities, now `null`.
    pub no_numbers: u64,
}

/// Mends the value at the beginning of `text`; none if its end was not reached.
pub(crate) fn mend(text: &str) -> Option<Mended> {
    let mut mended = Mended::default();
    let mut depth = 0u64;
    // Where in the mended text a comma stands after which only blanks came.
    let mut comma = None;
    let mut rest = text;
    loop {
        let first = rest.chars().next()?;
        match first {
            '"' => {
                comma = None;
                rest = mend_text(rest, &mut mended)?;
                if depth == 0 {
                    mended.used = text.len() - rest.len();
                    return Some(mended);
                }
                continue;
            }
            '{' | '[' => {
                comma = None;
                depth += 1;
            }
            '}' | ']' => {
                if let Some(at) = comma.take() {
                    mended.text.remove(at);
                }
                depth = depth.saturating_sub(1);
            }
            ',' => comma = Some(mended.text.len()),
            ':' => comma = None,
            _ if first.is_ascii_whitespace() => {}
            _ => {
                comma = None;
                let end = rest.find(|c: char| ",:]}[{\"".contains(c) || c.is_ascii_whitespace());
                // A number or word that is the whole value has no other end.
                let end = if depth == 0 { end.unwrap_or(rest.len()) } else { end? };
                let (token, after) = rest.split_at_checked(end)?;
                if is_no_number(token) {
                    mended.text.push_str("null");
                    mended.no_numbers += 1;
                } else {
                    mended.text.push_str(token);
                }
                rest = after;
                if depth == 0 {
                    mended.used = text.len() - rest.len();
                    return Some(mended);
                }
                continue;
            }
        }
        mended.text.push(first);
        rest = rest.get(first.len_utf8()..)?;
        if depth == 0 {
            mended.used = text.len() - rest.len();
            return Some(mended);
        }
    }
}

fn is_no_number(token: &str) -> bool {
    let token = token.strip_prefix(['-', '+']).unwrap_or(token);
    ["nan", "inf", "infinity", "nan(ind)"].iter().any(|name| token.eq_ignore_ascii_case(name))
}

/// Mends the text at the beginning of `rest`, which begins with its quotation mark, and says
/// what comes after it.
fn mend_text<'a>(rest: &'a str, mended: &mut Mended) -> Option<&'a str> {
    mended.text.push('"');
    let mut rest = rest.get(1..)?;
    loop {
        let stop = rest.find(|c: char| c == '"' || c == '\\' || c < ' ')?;
        let (plain, after) = rest.split_at_checked(stop)?;
        mended.text.push_str(plain);
        rest = match after.chars().next()? {
            '"' => {
                mended.text.push('"');
                return after.get(1..);
            }
            '\\' => mend_escape(after, mended)?,
            control => {
                mended.text.push_str(&format!("\\u{:04x}", u32::from(control)));
                mended.control_characters += 1;
                after.get(1..)?
            }
        };
    }
}

/// Mends the escape at the beginning of `rest` and says what comes after it.
fn mend_escape<'a>(rest: &'a str, mended: &mut Mended) -> Option<&'a str> {
    let kind = rest.chars().nth(1)?;
    if "\"\\/bfnrt".contains(kind) {
        mended.text.push_str(rest.get(..2)?);
        return rest.get(2..);
    }
    if kind != 'u' {
        mended.text.push_str("\\\\");
        mended.broken_characters += 1;
        return rest.get(1..);
    }
    // Two escapes of four digits are the most that belong together.
    if rest.len() < 12 && !rest.contains('"') {
        return None;
    }
    let Some(unit) = unit(rest) else {
        mended.text.push_str("\\\\");
        mended.broken_characters += 1;
        return rest.get(1..);
    };
    let used = match unit {
        0xd800..=0xdbff => {
            let low = rest.get(6..).and_then(self::unit);
            if low.is_some_and(|low| (0xdc00..=0xdfff).contains(&low)) { Some(12) } else { None }
        }
        0xdc00..=0xdfff => None,
        _ => Some(6),
    };
    if let Some(used) = used {
        mended.text.push_str(rest.get(..used)?);
        return rest.get(used..);
    }
    mended.text.push_str("\\ufffd");
    mended.broken_characters += 1;
    rest.get(6..)
}

/// The number of an escape `\uXXXX` at the beginning of a text.
fn unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(())?;
    u32::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let mended = mend(text).expect("complete");
        assert_eq!(mended.text, expected);
        assert_eq!(mended.used, text.len());
        serde_json::from_str::<serde_json::Value>(&mended.text).expect("strict");
    }

    #[test]
    fn careless_values_become_strict() {
        check("{\"a\": \"x\ty\u{1}\"}", "{\"a\": \"x\\u0009y\\u0001\"}");
        check("{\"a\": [NaN, -Infinity, nan,inf]}", "{\"a\": [null, null, null,null]}");
        check("{\"a\": [1, 2 , ], }", "{\"a\": [1, 2  ] }");
        check(
            r#"{"a": "\ud83d\ude00 \ud83d \x \u12"}"#,
            r#"{"a": "\ud83d\ude00 \ufffd \\x \\u12"}"#,
        );
        check(r#"{"a": "NaN, ]", "b": "}\""}"#, r#"{"a": "NaN, ]", "b": "}\""}"#);
    }

    #[test]
    fn what_has_no_end_is_not_mended() {
        for text in ["{", "{\"a", "{\"a\\", "{\"a\\u12", "{\"a\": Na", "[[1], ", "\"a", ""] {
            assert_eq!(mend(text), None, "{text}");
        }
        assert_eq!(mend("{} ,").map(|mended| mended.used), Some(2));
        assert_eq!(mend("NaN").map(|mended| mended.text), Some("null".to_owned()));
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep = "[".repeat(1_000_000);
        assert_eq!(mend(&deep), None);
    }
}
