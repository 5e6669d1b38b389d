//! The file as a whole: top-level keys in any order, and the list of events among them.

use std::io::Read;

use serde::de::{DeserializeSeed, IgnoredAny};

use super::intake::Intake;
use super::job;
use super::wire::{Fill, WireEvent};
use crate::TraceError;
use crate::json::{BYTE_ORDER_MARK, Buffer, Place, Scan, mend, replaced};
use crate::options::ReadOptions;

/// The longest single event in bytes. Real ones have a few hundred; ops with long lists of
/// inputs have some ten thousand.
const LONGEST_EVENT: usize = 64 * 1024 * 1024;

/// The longest description of a job or its devices in bytes, which is held as a tree. Real ones
/// have some thousand; a hundred groups of ten thousand ranks have some million.
const LONGEST_DESCRIPTION: usize = 16 * 1024 * 1024;

/// The longest text or number that is kept as a property, in bytes.
const LONGEST_PROPERTY: usize = 4 * 1024;

const CUT_HINT: &str = "the profiler was probably ended while it wrote; \
                        `--allow-truncated` reads the events that are complete";

/// A walk over a file.
pub(super) struct Document<'a, R> {
    source_name: &'a str,
    allow_truncated: bool,
    buffer: Buffer<R>,
    intake: Intake,
    base: Option<i64>,
    lists: u64,
    /// The first event that was set aside.
    odd: Option<(Place, String)>,
    /// The first few top-level keys, for messages.
    keys: Vec<String>,
}

/// Why walking stopped before the end.
pub(super) enum Stop {
    /// The file ended too early.
    Cut,
    /// The file cannot be used.
    Error(TraceError),
}

impl From<TraceError> for Stop {
    fn from(error: TraceError) -> Self {
        Stop::Error(error)
    }
}

impl<'a, R: Read> Document<'a, R> {
    pub(super) fn new(source_name: &'a str, reader: R, options: &ReadOptions) -> Self {
        Document {
            source_name,
            allow_truncated: options.allow_truncated,
            buffer: Buffer::new(reader),
            intake: Intake::new(source_name, options),
            base: None,
            lists: 0,
            odd: None,
            keys: Vec::new(),
        }
    }

    /// Walks over the file and says what was found: the intake, the base of its times, the
    /// first event that was set aside, and, if there was no list of events, the keys there were.
    pub(super) fn walk(mut self) -> Result<Walked, TraceError> {
        match self.file() {
            Ok(()) => {}
            Err(Stop::Error(error)) => return Err(error),
            Err(Stop::Cut) if self.allow_truncated && self.lists > 0 => {
                self.intake.recording.oddities.cut = true;
            }
            Err(Stop::Cut) => return Err(self.cut()),
        }
        let mut intake = self.intake;
        if let Some(base) = self.base {
            intake.rebase(base);
        }
        Ok(Walked { intake, odd: self.odd, lists: self.lists, keys: self.keys })
    }

    fn cut(&self) -> TraceError {
        let what = if self.buffer.cut() { "the compressed data end" } else { "the file ends" };
        let read = self.intake.recording.oddities.read;
        let problem = format!("{what} before the trace does, after {read} complete events");
        self.error(self.buffer.place(), problem, CUT_HINT)
    }

    fn error(&self, place: Place, problem: impl Into<String>, hint: &str) -> TraceError {
        TraceError::content(self.source_name, place.to_string(), problem, hint)
    }

    /// The next byte that is no blank, not consumed; none at the end.
    fn peek(&mut self) -> Result<Option<u8>, TraceError> {
        loop {
            let rest = self.buffer.rest();
            let blanks = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            let next = rest.get(blanks).copied();
            self.buffer.consume(blanks);
            if next.is_some() {
                return Ok(next);
            }
            if !self.fill()? {
                return Ok(None);
            }
        }
    }

    fn next(&mut self) -> Result<u8, Stop> {
        self.peek()?.ok_or(Stop::Cut)
    }

    fn fill(&mut self) -> Result<bool, TraceError> {
        self.buffer
            .fill()
            .map_err(|error| TraceError::Read { source_name: self.source_name.to_owned(), error })
    }

    fn expected(&self, what: &str) -> Stop {
        let rest = self.buffer.rest();
        let beginning = String::from_utf8_lossy(rest.get(..64).unwrap_or(rest));
        let found: String = beginning.chars().take(12).collect();
        let problem = format!("expected {what}, found {found:?}");
        Stop::Error(self.error(self.buffer.place(), problem, "the file is no JSON from here on"))
    }

    fn file(&mut self) -> Result<(), Stop> {
        if self.buffer.rest().is_empty() {
            self.fill()?;
        }
        if self.buffer.rest().starts_with(BYTE_ORDER_MARK) {
            self.buffer.consume(BYTE_ORDER_MARK.len());
        }
        match self.peek()? {
            Some(b'{') => self.top()?,
            Some(b'[') => {
                self.intake.recording.oddities.bare_list = true;
                self.events()?;
            }
            _ => return Err(self.no_json().into()),
        }
        match self.peek()? {
            None => Ok(()),
            Some(_) => Err(self.expected("the end of the file")),
        }
    }

    fn no_json(&self) -> TraceError {
        let beginning = self.buffer.rest();
        let (problem, hint) = match crate::input::strange::recognise(beginning) {
            Some(strange) => (strange.problem, strange.hint),
            None => ("is no JSON", "a trace begins with `{` or `[`"),
        };
        TraceError::unusable(self.source_name, problem, hint)
    }

    /// The object at the top, key by key.
    fn top(&mut self) -> Result<(), Stop> {
        self.buffer.consume(1);
        loop {
            match self.next()? {
                b'}' => {
                    self.buffer.consume(1);
                    return Ok(());
                }
                b',' => self.buffer.consume(1),
                b'"' => {
                    let key = self.value(LONGEST_PROPERTY)?;
                    let key: String = key.map_or_else(String::new, |key| unquoted(&key));
                    if self.next()? != b':' {
                        return Err(self.expected("a colon"));
                    }
                    self.buffer.consume(1);
                    self.entry(&key)?;
                }
                _ => return Err(self.expected("a key")),
            }
        }
    }

    fn entry(&mut self, key: &str) -> Result<(), Stop> {
        if self.keys.len() < 8 {
            self.keys.push(key.to_owned());
        }
        let first = self.next()?;
        if key == "traceEvents" && first == b'[' {
            return self.events();
        }
        if matches!(first, b'{' | b'[') {
            let limit = if job::is_wanted(key) { LONGEST_DESCRIPTION } else { 0 };
            if let Some(text) = self.value(limit)? {
                job::take(&mut self.intake.recording, key, &text);
            }
            return Ok(());
        }
        if matches!(first, b'}' | b']' | b',' | b':') {
            return Err(self.expected("a value"));
        }
        let Some(text) = self.value(LONGEST_PROPERTY)? else { return Ok(()) };
        let text = unquoted(&text);
        if key == "baseTimeNanoseconds" {
            self.base = text.parse().ok();
        }
        if job::is_kept(key) {
            self.intake.recording.properties.insert(key.to_owned(), text);
        }
        Ok(())
    }

    /// Passes over a value; gives its text if it has no more than `limit` bytes.
    fn value(&mut self, limit: usize) -> Result<Option<String>, Stop> {
        let mut scan = Scan::default();
        let mut bytes = Some(Vec::new());
        loop {
            let rest = self.buffer.rest();
            let end = scan.advance(rest);
            let piece = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
            bytes = bytes.filter(|bytes: &Vec<u8>| bytes.len() + piece.len() <= limit);
            if let Some(bytes) = &mut bytes {
                bytes.extend_from_slice(piece);
            }
            let used = piece.len();
            self.buffer.consume(used);
            if end.is_some() || !self.fill()? {
                if end.is_none() && !scan.may_end() {
                    return Err(Stop::Cut);
                }
                return Ok(bytes.map(|bytes| self.text_of(&bytes)));
            }
        }
    }

    /// Bytes as text; those that are no UTF-8 are replaced and counted.
    fn text_of(&mut self, bytes: &[u8]) -> String {
        let (text, broken) = replaced(bytes);
        self.intake.recording.oddities.broken_characters += broken;
        text
    }

    /// The list of events.
    fn events(&mut self) -> Result<(), Stop> {
        self.buffer.consume(1);
        self.lists += 1;
        let mut separated = true;
        loop {
            match self.next()? {
                b']' => {
                    self.buffer.consume(1);
                    return Ok(());
                }
                b',' => {
                    self.buffer.consume(1);
                    separated = true;
                    continue;
                }
                _ if !separated => return Err(self.expected("a comma or the end of the list")),
                b'{' => self.event()?,
                b'}' | b':' => return Err(self.expected("an event")),
                _ => {
                    self.intake.recording.oddities.no_events += 1;
                    self.value(0)?;
                }
            }
            separated = false;
        }
    }

    fn event(&mut self) -> Result<(), Stop> {
        loop {
            let rest = self.buffer.rest();
            let mut event = WireEvent::default();
            let mut parser = serde_json::Deserializer::from_slice(rest);
            let refused = match Fill(&mut event).deserialize(&mut parser) {
                Ok(()) => {
                    let used = parser.into_iter::<IgnoredAny>().byte_offset();
                    take(&mut self.intake, &event, &mut self.odd, &self.buffer);
                    self.buffer.consume(used);
                    return Ok(());
                }
                Err(error) => !error.is_eof(),
            };
            if refused && self.mended_event()? {
                return Ok(());
            }
            if self.buffer.rest().len() > LONGEST_EVENT {
                let problem = "an event has more than 64 MiB";
                return Err(Stop::Error(self.error(self.buffer.place(), problem, "")));
            }
            if !self.fill()? {
                return Err(Stop::Cut);
            }
        }
    }

    /// Takes an event that is no strict JSON; says whether its end was reached.
    fn mended_event(&mut self) -> Result<bool, Stop> {
        let rest = self.buffer.rest();
        let Some(used) = Scan::default().advance(rest) else { return Ok(false) };
        let (text, broken) = replaced(rest.get(..used).unwrap_or_default());
        let Some(mended) = mend(&text) else { return Ok(false) };
        let mut event = WireEvent::default();
        let mut parser = serde_json::Deserializer::from_str(&mended.text);
        Fill(&mut event).deserialize(&mut parser).map_err(|error| {
            // Its own idea of where it is counts from the beginning of the mended event.
            let problem = error.to_string();
            let problem = problem.split(" at line ").next().unwrap_or_default();
            let hint = "the event that begins here is no JSON: was the file edited or cut?";
            Stop::Error(self.error(self.buffer.place(), format!("bad event: {problem}"), hint))
        })?;
        let oddities = &mut self.intake.recording.oddities;
        oddities.control_characters += mended.control_characters;
        oddities.broken_characters += broken + mended.broken_characters;
        oddities.no_numbers += mended.no_numbers;
        take(&mut self.intake, &event, &mut self.odd, &self.buffer);
        self.buffer.consume(used);
        Ok(true)
    }
}

/// What a walk found.
pub(super) struct Walked {
    pub(super) intake: Intake,
    pub(super) odd: Option<(Place, String)>,
    pub(super) lists: u64,
    pub(super) keys: Vec<String>,
}

/// Takes an event that begins where parsing stands, and remembers the first that is odd.
fn take<R: Read>(
    intake: &mut Intake,
    event: &WireEvent<'_>,
    odd: &mut Option<(Place, String)>,
    buffer: &Buffer<R>,
) {
    if intake.take(event).is_err() && odd.is_none() {
        *odd = Some((buffer.place(), event.name.0.clone().into_owned()));
    }
}

/// The text that a JSON text stands for; a number or word stands for itself.
fn unquoted(text: &str) -> String {
    if !text.starts_with('"') {
        return text.to_owned();
    }
    serde_json::from_str(text).unwrap_or_else(|_| text.trim_matches('"').to_owned())
}
