//! Copies between and within memories, by the name the profiler gives them.

use kernelgauge_data::{CopyDirection, CopyPoint, Point};

use super::Uncovered;

/// The copy a name such as `Memcpy HtoD (Pinned -> Device)` and a size say.
///
/// # Errors
/// A name that says no direction, or no recorded size.
pub fn point(name: &str, bytes: Option<u64>) -> Result<Point, Uncovered> {
    let directions = [
        ("HtoD", CopyDirection::HostToDevice),
        ("DtoH", CopyDirection::DeviceToHost),
        ("DtoD", CopyDirection::DeviceToDevice),
        ("PtoP", CopyDirection::PeerToPeer),
        ("HtoH", CopyDirection::HostToHost),
    ];
    let direction = directions.iter().find(|(word, _)| name.contains(word));
    let (_, direction) = *direction.ok_or(Uncovered::Missing("the direction of the copy is"))?;
    let bytes = bytes.ok_or(Uncovered::Missing("the size of the copy is"))?;
    // Page-locked memory of the host is named.
    let pinned = name.contains("Pinned");
    Ok(Point::Copy(CopyPoint { direction, pinned, bytes }))
}
