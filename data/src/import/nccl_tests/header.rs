//! The header of a table: which columns its rows have, in which of its two halves.
//!
//! Layouts by age: `bytes N type op time algbw busbw res` with rows behind `#` and
//! milliseconds (NCCL 2.4); `size count type [redop] [root] time algbw busbw error` (to August
//! 2022); `... #wrong` since; with `-I` four more columns a half, with time stamps one more.

use super::tokens::{Token, tokens};

/// What a column of one half holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HalfColumn {
    /// Time of one call.
    Time,
    /// Size over time.
    AlgorithmBandwidth,
    /// Algorithm bandwidth times the bus factor.
    BusBandwidth,
    /// Number of wrong elements.
    Wrong,
    /// Largest deviation from the reference.
    Deviation,
    /// Anything else.
    Other,
}

/// One half, out of place or in place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Half {
    /// Its columns in order; the first is the time.
    pub columns: Vec<HalfColumn>,
    /// Where the heading of the time column ends in its line.
    pub time_end: usize,
}

/// The unit of the time columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeUnit {
    /// Microseconds, every layout but the oldest.
    Micro,
    /// Milliseconds.
    Milli,
    /// Seconds.
    Second,
}

impl TimeUnit {
    /// Microseconds of one unit.
    pub fn us(self) -> f64 {
        match self {
            TimeUnit::Micro => 1.0,
            TimeUnit::Milli => 1e3,
            TimeUnit::Second => 1e6,
        }
    }

    /// The name in headings.
    pub fn name(self) -> &'static str {
        match self {
            TimeUnit::Micro => "us",
            TimeUnit::Milli => "ms",
            TimeUnit::Second => "s",
        }
    }
}

/// The header of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    /// Whether a column names the reduction.
    pub redop: bool,
    /// Whether a column names the root.
    pub root: bool,
    /// Where the heading of the type column ends in its line.
    pub type_end: usize,
    /// One half, or out of place and in place.
    pub halves: Vec<Half>,
    /// The layout of NCCL 2.4, which gives no units and means milliseconds.
    pub oldest: bool,
}

impl Header {
    /// Reads `line` if it is a header, whatever a launcher wrote before it.
    pub fn parse(line: &str) -> Option<Header> {
        let words = tokens(line);
        let has = |name: &str| words.iter().any(|word| word.text == name);
        if !has("algbw") || !has("busbw") {
            return None;
        }
        let first = words
            .iter()
            .position(|word| matches!(word.text.trim_start_matches('#'), "size" | "bytes"))?;
        let mut header = Header {
            redop: false,
            root: false,
            type_end: words[first].end(),
            halves: Vec::new(),
            oldest: words[first].text.trim_start_matches('#') == "bytes",
        };
        for word in &words[first + 1..] {
            header.add(word);
        }
        let timed = |half: &Half| half.columns.contains(&HalfColumn::AlgorithmBandwidth);
        (matches!(header.halves.len(), 1 | 2) && header.halves.iter().all(timed)).then_some(header)
    }

    fn add(&mut self, word: &Token<'_>) {
        let column = match word.text {
            "time" | "cputime" => {
                let columns = vec![HalfColumn::Time];
                self.halves.push(Half { columns, time_end: word.end() });
                return;
            }
            "timestamp" => return,
            "algbw" => HalfColumn::AlgorithmBandwidth,
            "busbw" => HalfColumn::BusBandwidth,
            "#wrong" | "wrong" => HalfColumn::Wrong,
            "error" | "res" => HalfColumn::Deviation,
            _ => HalfColumn::Other,
        };
        let Some(half) = self.halves.last_mut() else {
            self.redop |= matches!(word.text, "redop" | "op");
            self.root |= word.text == "root";
            if word.text == "type" {
                self.type_end = word.end();
            }
            return;
        };
        half.columns.push(column);
    }
}

/// The time unit of a line of units: `(B) (elements) (us) (GB/s) ...`.
pub(super) fn units(line: &str) -> Option<TimeUnit> {
    if !line.contains("(GB/s)") {
        return None;
    }
    tokens(line).iter().find_map(|word| match word.text {
        "(us)" => Some(TimeUnit::Micro),
        "(ms)" => Some(TimeUnit::Milli),
        "(s)" => Some(TimeUnit::Second),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_of_every_age_are_told_apart() {
        let read = |line| {
            let header = Header::parse(line)?;
            let columns = header.halves.iter().map(|half| half.columns.len()).collect::<Vec<_>>();
            Some((header.redop, header.root, columns, header.oldest))
        };
        let modern = "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong";
        assert_eq!(read(modern), Some((true, true, vec![4, 4], false)));
        let gather = "0: # size count type time algbw busbw error time algbw busbw error";
        assert_eq!(read(gather), Some((false, false, vec![4, 4], false)));
        let oldest = "# bytes N type op time algbw busbw res time algbw busbw res";
        assert_eq!(read(oldest), Some((true, false, vec![4, 4], true)));
        let steps = "# size count type redop root time algbw busbw #wrong i_min i_max i_p99 i_cv% \
                     time algbw busbw #wrong i_min i_max i_p99 i_cv% timestamp";
        assert_eq!(read(steps), Some((true, true, vec![8, 8], false)));
        assert_eq!(
            read("# size count type redop root time algbw busbw #wrong"),
            Some((true, true, vec![4], false))
        );
        assert_eq!(read("# Avg bus bandwidth : 3"), None);
    }

    #[test]
    fn units_come_from_their_own_line() {
        assert_eq!(units("# (B) (elements) (us) (GB/s) (GB/s)"), Some(TimeUnit::Micro));
        assert_eq!(units("# (B) (elements) (ms) (GB/s) (GB/s)"), Some(TimeUnit::Milli));
        assert_eq!(units("took 3 (us)"), None);
    }
}
