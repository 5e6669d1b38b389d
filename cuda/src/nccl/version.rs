//! Versions as NCCL counts them.

use std::fmt;

/// A version of NCCL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// First number.
    pub major: u32,
    /// Second number.
    pub minor: u32,
    /// Third number.
    pub patch: u32,
}

impl Version {
    /// A version from its three numbers.
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Version { major, minor, patch }
    }

    /// The version behind the number of `ncclGetVersion`. Up to 2.8 a minor version counted a
    /// hundred, since then it has been ten thousand for the major one: `2804` is 2.8.4, `23203`
    /// is 2.32.3 (`NCCL_VERSION` of nccl.h).
    pub const fn of_number(number: u32) -> Self {
        let thousand = if number < 10_000 { 1_000 } else { 10_000 };
        Version { major: number / thousand, minor: number % thousand / 100, patch: number % 100 }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_old_and_new_libraries_are_read() {
        for (number, text) in
            [(2408, "2.4.8"), (2804, "2.8.4"), (20_908, "2.9.8"), (23_203, "2.32.3"), (0, "0.0.0")]
        {
            assert_eq!(Version::of_number(number).to_string(), text);
        }
        assert!(Version::of_number(2804) < Version::of_number(20_908));
    }
}
