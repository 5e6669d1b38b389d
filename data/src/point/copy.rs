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

/// Our names in any case, and the spellings of CUDA and its tools (`HtoD`, `host_to_device`,
/// `Device-to-Host`, `cudaMemcpyHostToDevice`, `[CUDA memcpy DtoD]`).
impl FromStr for CopyDirection {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        // Our own names first: this runs once per row of a batch and must not allocate.
        if let Some(exact) = CopyDirection::ALL.into_iter().find(|known| known.name() == text) {
            return Ok(exact);
        }
        let plain: String =
            text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
        let plain = plain.trim_start_matches("cuda").trim_start_matches("memcpy");
        let short = plain
            .replace("host", "h")
            .replace("device", "d")
            .replace("peer", "p")
            .replace("to", "2");
        CopyDirection::ALL.into_iter().find(|known| known.name() == short).ok_or_else(|| {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_are_known_by_every_usual_spelling() {
        for (spellings, direction) in [
            (
                "h2d H2D HtoD host_to_device Host-To-Device HostToDevice cudaMemcpyHostToDevice",
                CopyDirection::HostToDevice,
            ),
            ("d2h D2H DtoH device-to-host DEVICE_TO_HOST dtoh", CopyDirection::DeviceToHost),
            ("d2d D2D DtoD device2device memcpy_DtoD", CopyDirection::DeviceToDevice),
            ("h2h H2H HtoH host_to_host", CopyDirection::HostToHost),
            ("p2p P2P PtoP peer_to_peer Peer-to-Peer", CopyDirection::PeerToPeer),
        ] {
            for spelling in spellings.split(' ') {
                assert_eq!(spelling.parse(), Ok(direction), "{spelling}");
            }
        }
        assert_eq!("[CUDA memcpy HtoD]".parse(), Ok(CopyDirection::HostToDevice));
        for other in ["", "up", "h2", "hd", "host", "h2d2h", "copy"] {
            assert!(other.parse::<CopyDirection>().is_err(), "{other}");
        }
    }
}
