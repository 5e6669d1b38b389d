//! A JSON document whose weight lies in one long list, read one value at a time.
//!
//! A [`Document`] cuts the text into the values of the outermost object and the elements of one
//! named list (`nodes`, `traceEvents`); only the value at hand is held. It finds where values
//! end by their brackets and quotes; what a value says is left to the caller and `serde_json`,
//! whose limit on nesting stands.
//!
//! What writers get wrong is mended and counted: raw control characters in texts, bytes that
//! are no UTF-8, and `NaN` and infinities, which become `null`.

use std::io::Read;

use serde::de::IgnoredAny;

use super::{BYTE_ORDER_MARK, Buffer, Place, Scan, mend, replaced};
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
    source_name: String,
    buffer: Buffer<R>,
    list: &'static str,
    allow_cut: bool,
    inside: Inside,
    bare: bool,
    elements: u64,
    value: String,
    begin: Place,
    oddities: Oddities,
}

impl<R: Read> Document<R> {
    /// A document whose long list is called `list`. With `allow_cut`, one that ends inside the
    /// list counts as complete up to its last whole element.
    pub fn new(source_name: &str, reader: R, list: &'static str, allow_cut: bool) -> Self {
        Document {
            source_name: source_name.to_owned(),
            buffer: Buffer::new(reader),
            list,
            allow_cut,
            inside: Inside::Start,
            bare: false,
            elements: 0,
            value: String::new(),
            begin: Place { byte: 0, line: 1 },
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
    pub fn text(&mut self) -> &str {
        let strict = serde_json::from_str::<IgnoredAny>(&self.value).is_ok();
        if !strict && let Some(mended) = mend(&self.value) {
            self.oddities.control_characters += mended.control_characters;
            self.oddities.broken_characters += mended.broken_characters;
            self.oddities.no_numbers += mended.no_numbers;
            self.value = mended.text;
        }
        &self.value
    }

    /// Where the value at hand begins.
    pub fn place(&self) -> String {
        self.begin.to_string()
    }

    /// What was mended so far.
    pub fn oddities(&self) -> Oddities {
        self.oddities.clone()
    }

    fn start(&mut self) -> Result<(), TraceError> {
        self.fill()?;
        if self.buffer.rest().starts_with(BYTE_ORDER_MARK) {
            self.buffer.consume(BYTE_ORDER_MARK.len());
        }
        match self.significant()? {
            Some(b'{') => self.inside = Inside::Object,
            Some(b'[') => {
                self.inside = Inside::List;
                self.bare = true;
                self.oddities.bare_list = true;
            }
            Some(_) => return Err(self.wrong("this is no JSON object", "")),
            None => return Err(TraceError::unusable(&self.source_name, "the file is empty", "")),
        }
        self.buffer.consume(1);
        Ok(())
    }

    fn property(&mut self) -> Result<Option<Piece>, TraceError> {
        match self.significant()? {
            Some(b'"') => {}
            Some(b'}') => {
                self.buffer.consume(1);
                return self.finish().map(Some);
            }
            Some(_) => return Err(self.wrong("expected a key in quotes or `}`", "")),
            None => return self.cut(self.buffer.place()).map(Some),
        }
        if !self.take_value()? {
            return self.cut(self.begin).map(Some);
        }
        let key: String = match serde_json::from_str(self.text()) {
            Ok(key) => key,
            Err(error) => return Err(self.wrong(&format!("this is no key: {error}"), "")),
        };
        if self.significant()? != Some(b':') {
            return match self.significant()? {
                None => self.cut(self.buffer.place()).map(Some),
                Some(_) => Err(self.wrong(&format!("expected `:` after the key `{key}`"), "")),
            };
        }
        self.buffer.consume(1);
        let first = self.significant()?;
        if key == self.list && first == Some(b'[') {
            self.buffer.consume(1);
            self.inside = Inside::List;
            return Ok(None);
        }
        if first.is_none() {
            return self.cut(self.buffer.place()).map(Some);
        }
        if !self.take_value()? {
            return self.cut(self.begin).map(Some);
        }
        Ok(Some(Piece::Property(key)))
    }

    fn element(&mut self) -> Result<Option<Piece>, TraceError> {
        match self.significant()? {
            Some(b']') => {
                self.buffer.consume(1);
                if self.bare {
                    return self.finish().map(Some);
                }
                self.inside = Inside::Object;
                return Ok(None);
            }
            Some(b'}' | b':') => return Err(self.wrong("expected an element or `]`", "")),
            Some(_) => {}
            None => return self.cut(self.buffer.place()).map(Some),
        }
        if !self.take_value()? {
            return self.cut(self.begin).map(Some);
        }
        self.elements += 1;
        Ok(Some(Piece::Element(self.elements - 1)))
    }

    /// Takes the value that begins here; whether it is whole.
    fn take_value(&mut self) -> Result<bool, TraceError> {
        self.begin = self.buffer.mark();
        let mut bytes = Vec::new();
        let mut scan = Scan::default();
        loop {
            let rest = self.buffer.rest();
            let end = scan.advance(rest);
            let piece = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
            bytes.extend_from_slice(piece);
            let used = piece.len();
            self.buffer.consume(used);
            if end.is_some() {
                return Ok(self.whole(&bytes));
            }
            if bytes.len() > LONGEST_VALUE_BYTES {
                let problem = format!("a value of more than {LONGEST_VALUE_BYTES} bytes");
                return Err(self.wrong(&problem, "a quotation mark or bracket may be missing"));
            }
            if !self.fill()? {
                // A number or word at the very end has no other end.
                return Ok(scan.may_end() && self.bare && self.whole(&bytes));
            }
        }
    }

    /// Keeps the value at hand, which is whole.
    fn whole(&mut self, bytes: &[u8]) -> bool {
        let (text, broken) = replaced(bytes);
        self.value = text;
        self.oddities.broken_characters += broken;
        true
    }

    /// The next byte that is neither blank nor comma.
    fn significant(&mut self) -> Result<Option<u8>, TraceError> {
        loop {
            let rest = self.buffer.rest();
            let blank = |byte: &&u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t' | b',');
            let blanks = rest.iter().take_while(blank).count();
            let next = rest.get(blanks).copied();
            self.buffer.consume(blanks);
            if next.is_some() || !self.fill()? {
                return Ok(next);
            }
        }
    }

    fn fill(&mut self) -> Result<bool, TraceError> {
        self.buffer
            .fill()
            .map_err(|error| TraceError::Read { source_name: self.source_name.clone(), error })
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

    fn cut(&mut self, at: Place) -> Result<Piece, TraceError> {
        if self.allow_cut && self.elements > 0 {
            self.inside = Inside::End;
            self.oddities.cut = true;
            return Ok(Piece::End);
        }
        let problem =
            format!("the file ends inside the document, after {} elements", self.elements);
        let hint =
            "whoever wrote it may have been stopped: `--allow-truncated` reads what is complete";
        Err(TraceError::content(&self.source_name, at.to_string(), problem, hint))
    }

    fn wrong(&self, problem: &str, hint: &str) -> TraceError {
        TraceError::content(&self.source_name, self.buffer.place().to_string(), problem, hint)
    }
}

#[cfg(test)]
mod tests;
