//! Lines and words of a log: colour removed, each word with its place.

use std::borrow::Cow;

/// A word of a line and where it lies, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token<'a> {
    /// The word.
    pub text: &'a str,
    /// Offset of its first byte.
    pub start: usize,
}

impl Token<'_> {
    /// Offset after the last byte: columns are right-aligned, so ends line up.
    pub fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// The words of `line`, separated by white space.
pub(super) fn tokens(line: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut start = None;
    for (at, character) in line.char_indices() {
        match (start, character.is_whitespace()) {
            (None, false) => start = Some(at),
            (Some(from), true) => {
                found.push(Token { text: &line[from..at], start: from });
                start = None;
            }
            _ => {}
        }
    }
    if let Some(from) = start {
        found.push(Token { text: &line[from..], start: from });
    }
    found
}

/// `line` without terminal colour and other escape sequences.
pub(super) fn without_escapes(line: &str) -> Cow<'_, str> {
    if !line.contains('\u{1b}') {
        return Cow::Borrowed(line);
    }
    let mut plain = String::with_capacity(line.len());
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        if character != '\u{1b}' {
            plain.push(character);
            continue;
        }
        if characters.next() == Some('[') {
            // A control sequence ends at its first letter.
            characters.by_ref().find(char::is_ascii_alphabetic);
        }
    }
    Cow::Owned(plain)
}

/// `text` with rank tags such as `[0]` and `[1,0]<stdout>:`, which launchers write between
/// cells, replaced by blanks of the same length.
pub(super) fn without_rank_tags(text: &str) -> Cow<'_, str> {
    let mut plain: Option<String> = None;
    let mut from = 0;
    while let Some(open) = text[from..].find('[').map(|at| from + at) {
        let Some(length) = rank_tag(&text[open..]) else {
            from = open + 1;
            continue;
        };
        let blank = " ".repeat(length);
        plain.get_or_insert_with(|| text.to_owned()).replace_range(open..open + length, &blank);
        from = open + length;
    }
    plain.map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Length of the rank tag at the start of `text`.
fn rank_tag(text: &str) -> Option<usize> {
    let close = text.find(']')?;
    let inside = &text[1..close];
    if inside.is_empty() || !inside.bytes().all(|b| b.is_ascii_digit() || b == b',') {
        return None;
    }
    let mut length = close + 1;
    for stream in ["<stdout>", "<stderr>"] {
        if text[length..].starts_with(stream) {
            length += stream.len();
        }
    }
    Some(length + usize::from(text[length..].starts_with(':')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_tags_leave_the_cells() {
        assert_eq!(without_escapes("\u{1b}[0;32m  8\u{1b}[0m  2"), "  8  2");
        assert_eq!(without_rank_tags("sum  -1[0]  1.5  0[12]  2"), "sum  -1     1.5  0      2");
        assert_eq!(without_rank_tags("[1,0]<stdout>: 8"), "               8");
        assert_eq!(without_rank_tags("device 0 [0x1b] [x"), "device 0 [0x1b] [x");
    }

    #[test]
    fn words_know_where_they_end() {
        let found = tokens(" a  bc");
        assert_eq!(found.iter().map(Token::end).collect::<Vec<_>>(), [2, 6]);
    }
}
