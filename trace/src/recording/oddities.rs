//! What was set aside or mended while reading, counted, so that nothing is lost silently.

/// Counts of what was set aside or mended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Oddities {
    /// Timed events that were read.
    pub read: u64,
    /// Raw control characters in texts, read as if they had been escaped.
    pub control_characters: u64,
    /// Bytes that are no UTF-8 and halves of characters, read as the replacement character, and
    /// escapes that mean nothing, read as they stand.
    pub broken_characters: u64,
    /// `NaN` and infinities where JSON has no number.
    pub no_numbers: u64,
    /// Events set aside: their duration is negative or longer than 1e6 seconds, or their time is
    /// more than 292 years from its origin.
    pub absurd_durations: u64,
    /// Events set aside: without time or duration, or with one that is no number.
    pub untimed: u64,
    /// Events set aside: of a category or phase that this reader does not know.
    pub unknown_kinds: u64,
    /// Dependencies on nodes that are not there (Chakra); they give no edges.
    pub unknown_dependencies: u64,
    /// Elements of the list of events that are no objects.
    pub no_events: u64,
    /// Functions of Python that were not kept.
    pub python_functions: u64,
    /// Pieces of the profiler's own cost that were not kept.
    pub overheads: u64,
    /// Arrows from launches to their work; correlations say the same.
    pub launch_arrows: u64,
    /// Points in time, mostly of memory.
    pub instants: u64,
    /// Values of counters.
    pub counters: u64,
    /// Names and places of rows.
    pub metadata: u64,
    /// Spans of the profiler itself.
    pub spans: u64,
    /// Times stay relative: together with the stated base they do not fit.
    pub relative: bool,
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
