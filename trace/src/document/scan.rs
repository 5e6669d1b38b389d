//! Where a JSON value ends, by its quotes and brackets alone.

/// What a value holds that `serde_json` would refuse.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Seen {
    control: bool,
    no_number: bool,
}

impl Seen {
    pub(super) fn needs_mending(self) -> bool {
        self.control || self.no_number
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Mode {
    /// Nothing of the value was seen.
    #[default]
    Before,
    /// In a number or word that is the whole value.
    Bare,
    /// Between the brackets of the value.
    Between,
    /// In a text.
    Text,
    /// Behind a backslash of a text.
    Escape,
}

/// A search for the end of a value that goes on where it stopped when more bytes come.
#[derive(Debug, Default)]
pub(super) struct Scan {
    mode: Mode,
    depth: u64,
    done: usize,
    seen: Seen,
    last: u8,
}

impl Scan {
    /// Looks at the bytes from the start of the value on, of which those seen before are
    /// skipped; the length of the value if its end is among them.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = self.done;
        while let Some(&byte) = bytes.get(at) {
            match self.mode {
                Mode::Text => match byte {
                    b'"' if self.depth == 0 => return Some(at + 1),
                    b'"' => self.mode = Mode::Between,
                    b'\\' => self.mode = Mode::Escape,
                    0..=0x1f => self.seen.control = true,
                    _ => {}
                },
                Mode::Escape => {
                    self.seen.control |= byte < 0x20;
                    self.mode = Mode::Text;
                }
                Mode::Bare => match byte {
                    b',' | b']' | b'}' | b' ' | b'\n' | b'\r' | b'\t' | b':' => return Some(at),
                    _ => self.word(byte),
                },
                Mode::Before | Mode::Between => match byte {
                    b'"' => self.mode = Mode::Text,
                    b'{' | b'[' => {
                        self.depth += 1;
                        self.mode = Mode::Between;
                    }
                    b'}' | b']' => {
                        self.depth = self.depth.saturating_sub(1);
                        if self.depth == 0 {
                            return Some(at + 1);
                        }
                    }
                    _ => {
                        self.word(byte);
                        if self.mode == Mode::Before {
                            self.mode = Mode::Bare;
                        }
                    }
                },
            }
            self.last = byte;
            at += 1;
        }
        self.done = at;
        None
    }

    pub(super) fn seen(&self) -> Seen {
        self.seen
    }

    /// Whether a value that the file ends in can be whole.
    pub(super) fn may_end_here(&self) -> bool {
        self.mode == Mode::Bare
    }

    /// A byte outside of texts: `NaN`, `nan`, `Infinity`, `inf` have letters no JSON word has.
    fn word(&mut self, byte: u8) {
        self.seen.no_number |=
            matches!(byte, b'N' | b'I' | b'i') || (byte == b'a' && self.last == b'n');
    }
}
