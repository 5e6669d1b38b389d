//! A JSON document whose weight lies in one long list, read one value at a time.
//!
//! A [`Document`] cuts the text into the values of the outermost object and the elements of one
//! named list (`nodes`, `traceEvents`); only the value at hand is held. It finds where values
//! end by their brackets and quotes; what a value says is left to the caller and `serde_json`,
//! whose limit on nesting stands.
//!
//! What writers get wrong is mended and counted: raw control characters in texts, bytes that
//! are no UTF-8, and `NaN` and infinities, which become texts.

mod buffer;
mod mend;
mod scan;

use std::borrow::Cow;
use std::io::Read;

use self::buffer::Buffer;
use self::scan::{Scan, Seen};
use crate::error::TraceError;
use crate::recording::Oddities;

/// The longest value that is held: no node or event of a sane recording comes near.
const LONGEST_VALUE_BYTES: usize = 256 << 20;

/// What a [`Document`] stands at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// A value of the outermost object, with its key.
    Property(String),
    /// An element of the list, by its place from 0.
    Element(u64),
    /// Nothing more follows.
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inside {
    Start,
    Object,
    List,
    End,
}

/// A JSON document, read piece by piece.
pub(crate) struct Document<R> {
    buffer: Buffer<R>,
    list: &'static str,
    allow_cut: bool,
    inside: Inside,
    bare: bool,
    elements: u64,
    seen: Seen,
    value: (usize, usize),
    begin: Place,
    oddities: Oddities,
}

/// Where something lies.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    byte: u64,
    line: u64,
}

impl std::fmt::Display for Place {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "byte {}, line {}", self.byte, self.line)
    }
}

impl<R: Read> Document<R> {
    /// A document whose long list is called `list`. With `allow_cut`, one that ends inside the
    /// list counts as complete up to its last whole element.
    pub fn new(source_name: &str, reader: R, list: &'static str, allow_cut: bool) -> Self {
        Document {
            buffer: Buffer::new(source_name, reader),
            list,
            allow_cut,
            inside: Inside::Start,
            bare: false,
            elements: 0,
            seen: Seen::default(),
            value: (0, 0),
            begin: Place::default(),
            oddities: Oddities::default(),
        }
    }

    /// Goes to the next piece.
    pub fn next(&mut self) -> Result<Piece, TraceError> {
        loop {
            match self.inside {
                Inside::Start => self.start()?,
                Inside::Object => {
                    if let Some(piece) = self.property()? {
                        return Ok(piece);
                    }
                }
                Inside::List => {
                    if let Some(piece) = self.element()? {
                        return Ok(piece);
                    }
                }
                Inside::End => return Ok(Piece::End),
            }
        }
    }

    /// The value at hand as JSON, mended where needed.
    pub fn text(&mut self) -> Cow<'_, str> {
        let bytes = self.buffer.slice(self.value.0, self.value.1);
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => {
                let text = String::from_utf8_lossy(bytes).into_owned();
                self.oddities.broken_characters +=
                    text.chars().filter(|&c| c == char::REPLACEMENT_CHARACTER).count() as u64;
                Cow::Owned(text)
            }
        };
        if self.seen.needs_mending() {
            Cow::Owned(mend::mended(&text, &mut self.oddities))
        } else {
            text
        }
    }

    /// Where the value at hand begins.
    pub fn place(&self) -> String {
        self.begin.to_string()
    }

    /// What was mended so far.
    pub fn oddities(&self) -> &Oddities {
        &self.oddities
    }

    /// The name of the file.
    pub fn source_name(&self) -> &str {
        self.buffer.source_name()
    }

    fn start(&mut self) -> Result<(), TraceError> {
        self.buffer.skip_byte_order_mark()?;
        match self.significant()? {
            Some(b'{') => self.inside = Inside::Object,
            Some(b'[') => {
                self.inside = Inside::List;
                self.bare = true;
                self.oddities.bare_list = true;
            }
            Some(_) => return Err(self.wrong("this is no JSON object", "")),
            None => return Err(TraceError::unusable(self.source_name(), "the file is empty", "")),
        }
        self.buffer.advance(1);
        Ok(())
    }

    fn property(&mut self) -> Result<Option<Piece>, TraceError> {
        match self.significant()? {
            Some(b'"') => {}
            Some(b'}') => {
                self.buffer.advance(1);
                return self.finish().map(Some);
            }
            Some(_) => return Err(self.wrong("expected a key in quotes or `}`", "")),
            None => return self.cut().map(Some),
        }
        if !self.take_value()? {
            return self.cut().map(Some);
        }
        let key: String = match serde_json::from_str(&self.text()) {
            Ok(key) => key,
            Err(error) => return Err(self.wrong(&format!("this is no key: {error}"), "")),
        };
        if self.significant()? != Some(b':') {
            return match self.buffer.peek()? {
                None => self.cut().map(Some),
                Some(_) => Err(self.wrong(&format!("expected `:` after the key `{key}`"), "")),
            };
        }
        self.buffer.advance(1);
        let first = self.significant()?;
        if key == self.list && first == Some(b'[') {
            self.buffer.advance(1);
            self.inside = Inside::List;
            return Ok(None);
        }
        if first.is_none() || !self.take_value()? {
            return self.cut().map(Some);
        }
        Ok(Some(Piece::Property(key)))
    }

    fn element(&mut self) -> Result<Option<Piece>, TraceError> {
        match self.significant()? {
            Some(b']') => {
                self.buffer.advance(1);
                if self.bare {
                    return self.finish().map(Some);
                }
                self.inside = Inside::Object;
                return Ok(None);
            }
            Some(b'}' | b':') => return Err(self.wrong("expected an element or `]`", "")),
            Some(_) => {}
            None => return self.cut().map(Some),
        }
        if !self.take_value()? {
            return self.cut().map(Some);
        }
        self.elements += 1;
        Ok(Some(Piece::Element(self.elements - 1)))
    }

    /// Goes behind the value that begins here and marks it; whether it is whole.
    fn take_value(&mut self) -> Result<bool, TraceError> {
        let (byte, line) = self.buffer.position();
        self.begin = Place { byte, line };
        let mut scan = Scan::default();
        loop {
            if let Some(end) = scan.feed(self.buffer.rest()) {
                self.seen = scan.seen();
                self.value = self.buffer.mark(end);
                return Ok(true);
            }
            if self.buffer.rest().len() > LONGEST_VALUE_BYTES {
                let problem = format!("a value of more than {LONGEST_VALUE_BYTES} bytes");
                return Err(self.wrong(&problem, "a quotation mark or bracket may be missing"));
            }
            if !self.buffer.more()? {
                // A number or word at the very end has no other end.
                let rest = self.buffer.rest().len();
                if scan.may_end_here() && self.bare {
                    self.seen = scan.seen();
                    self.value = self.buffer.mark(rest);
                    return Ok(true);
                }
                return Ok(false);
            }
        }
    }

    /// The next byte that is neither blank nor comma.
    fn significant(&mut self) -> Result<Option<u8>, TraceError> {
        loop {
            let rest = self.buffer.rest();
            let blank = |byte: &u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t' | b',');
            match rest.iter().position(|byte| !blank(byte)) {
                Some(count) => {
                    self.buffer.advance(count);
                    return self.buffer.peek();
                }
                None => {
                    let count = rest.len();
                    self.buffer.advance(count);
                    if !self.buffer.more()? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    fn finish(&mut self) -> Result<Piece, TraceError> {
        self.inside = Inside::End;
        match self.significant()? {
            None => Ok(Piece::End),
            Some(_) => Err(self.wrong(
                "more follows after the end of the document",
                "two files may have been written into one",
            )),
        }
    }

    fn cut(&mut self) -> Result<Piece, TraceError> {
        if self.allow_cut && self.elements > 0 {
            self.inside = Inside::End;
            self.oddities.cut = true;
            return Ok(Piece::End);
        }
        let problem =
            format!("the file ends inside the document, after {} elements", self.elements);
        Err(self.wrong(
            &problem,
            "whoever wrote it may have been stopped: `--allow-truncated` reads what is complete",
        ))
    }

    fn wrong(&mut self, problem: &str, hint: &str) -> TraceError {
        let (byte, line) = self.buffer.position();
        TraceError::Content {
            source_name: self.source_name().to_owned(),
            place: Place { byte, line }.to_string(),
            problem: problem.to_owned(),
            hint: (!hint.is_empty()).then(|| hint.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests;
