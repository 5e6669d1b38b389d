//! Points in time of a recording, as integer nanoseconds, and their reading from text.
//!
//! Kineto writes microseconds: integers before 2023, decimals with nanosecond digits since. A
//! double cannot hold microseconds since 1970 to the nanosecond, so digits are read as digits.

use std::ops::Add;

use kernelgauge_data::Nanos;

/// A point in time, in nanoseconds since an origin that all events of a recording share.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(i64);

impl Moment {
    /// `nanos` nanoseconds after the origin.
    pub const fn new(nanos: i64) -> Self {
        Moment(nanos)
    }

    /// Nanoseconds since the origin.
    pub const fn get(self) -> i64 {
        self.0
    }

    /// How long after `earlier` this is; nothing if it is before.
    pub fn since(self, earlier: Moment) -> Nanos {
        Nanos::new(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Nanoseconds from `other` to this, negative if this comes first.
    pub fn minus(self, other: Moment) -> i64 {
        self.0.saturating_sub(other.0)
    }

    /// This moment `nanos` nanoseconds later, or earlier if negative.
    pub fn shifted(self, nanos: i64) -> Moment {
        Moment(self.0.saturating_add(nanos))
    }
}

impl Add<Nanos> for Moment {
    type Output = Moment;
    fn add(self, duration: Nanos) -> Moment {
        self.shifted(i64::try_from(duration.get()).unwrap_or(i64::MAX))
    }
}
