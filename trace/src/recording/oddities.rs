//! What was set aside or mended while reading, counted, so that nothing is lost silently.

/// Counts of what was set aside or mended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Oddities {
    /// Timed events that were read.
    pub read: u64,
    /// Raw control characters in texts, read as if they had been escaped.
    pub control_characters: u64,
    /// Bytes that are no UTF-8, read as the replacement character.
    pub broken_characters: u64,
    /// `NaN` and infinities where JSON has no number.
    pub no_numbers: u64,
    /// Events set aside: their duration is negative or longer than 1e6 seconds.
    pub absurd_durations: u64,
    /// Events set aside: without time or duration, or with one that is no number.
    pub untimed: u64,
    /// Events set aside: of a kind this reader does not know, by its count.
    pub unknown_kinds: u64,
    /// Elements of the list of events that are no objects.
    pub no_events: u64,
    /// The list of events was never closed; what was complete was read.
    pub cut: bool,
    /// The file is a bare list of events.
    pub bare_list: bool,
}

impl Oddities {
    /// Events that were set aside although they should have counted.
    pub fn set_aside(&self) -> u64 {
        self.absurd_durations + self.untimed + self.no_events
    }
}
