//! Copies between and within memories.

use std::fmt;
use std::str::FromStr;

use crate::nearest::{self, UnknownName};
use crate::point::parts::{Parameters, PointError, VariantName, Work, at_least_one, fits};

/// From where to where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CopyDirection {
    /// Host memory to device memory.
    HostToDevice,
    /// Device memory to host memory.
    DeviceToHost,
    /// Within one device's memory.
    DeviceToDevice,
    /// Between two devices.
    PeerToPeer,
    /// Within host memory.
    HostToHost,
}

impl CopyDirection {
    const ALL: [CopyDirection; 5] = [
        CopyDirection::HostToDevice,
        CopyDirection::DeviceToHost,
        CopyDirection::DeviceToDevice,
        CopyDirection::PeerToPeer,
        CopyDirection::HostToHost,
    ];

    /// The name in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            CopyDirection::HostToDevice => "h2d",
            CopyDirection::DeviceToHost => "d2h",
            CopyDirection::DeviceToDevice => "d2d",
            CopyDirection::PeerToPeer => "p2p",
            CopyDirection::HostToHost => "h2h",
        }
    }
}

impl fmt::Display for CopyDirection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for CopyDirection {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        CopyDirection::ALL.into_iter().find(|direction| direction.name() == text).ok_or_else(|| {
            nearest::unknown("copy direction", text, CopyDirection::ALL.map(CopyDirection::name))
        })
    }
}

/// One contiguous copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CopyPoint {
    /// From where to where.
    pub direction: CopyDirection,
    /// Whether the host side is page-locked.
    pub pinned: bool,
    /// Bytes copied.
    pub bytes: u64,
}

impl CopyPoint {
    pub(super) fn variant(&self) -> VariantName {
        let pinned = if self.pinned { "pinned" } else { "pageable" };
        VariantName::join(&[self.direction.name(), pinned])
    }

    pub(super) fn parameter_names(&self) -> [&'static str; 1] {
        ["bytes"]
    }

    pub(super) fn parameters(&self) -> Parameters {
        Parameters::new(&[self.bytes])
    }

    pub(super) fn axis(&self) -> usize {
        0
    }

    pub(super) fn work(&self) -> Work {
        let bytes = self.bytes as f64;
        Work { flops: 0.0, bytes_read: bytes, bytes_written: bytes }
    }

    pub(super) fn check(&self) -> Result<(), PointError> {
        at_least_one(&[("bytes", self.bytes)])?;
        fits("bytes", &[self.bytes, 2])
    }
}
