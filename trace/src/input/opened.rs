//! A file opened, with gzip taken off and its beginning at hand.

use std::fs::File;
use std::io::{self, Cursor, ErrorKind, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use crate::error::TraceError;

/// Bytes of the beginning that are looked at: what stands before the list of events in most
/// files fits, and a whole block of tar.
const BEGINNING_BYTES: usize = 64 * 1024;

/// The first bytes of gzip.
const GZIP: &[u8] = b"\x1f\x8b";

/// A file or member, without gzip around it.
pub(super) struct Opened<'archive> {
    /// What it is called in errors: the path, and the member for an archive.
    pub source_name: String,
    /// How it begins; also what `reader` begins with.
    pub beginning: Vec<u8>,
    /// Everything.
    pub reader: Box<dyn Read + 'archive>,
}

/// Opens a file; `-` is the standard input.
///
/// # Errors
/// The system refuses, or the gzip around the file is damaged at its beginning.
pub(super) fn file(path: &Path) -> Result<Opened<'static>, TraceError> {
    if path == Path::new("-") {
        return unpacked("standard input".to_owned(), io::stdin());
    }
    let source_name = path.display().to_string();
    match File::open(path) {
        Ok(file) => unpacked(source_name, file),
        Err(error) => Err(TraceError::Read { source_name, error }),
    }
}

/// Takes gzip off, if there is any. That takes a fifth of the time that reading takes as a whole, so it
/// has no thread of its own.
///
/// # Errors
/// The system refuses, or the gzip is damaged at its beginning.
pub(super) fn unpacked<'archive>(
    source_name: String,
    mut reader: impl Read + 'archive,
) -> Result<Opened<'archive>, TraceError> {
    let packed = beginning(&source_name, &mut reader)?;
    let is_packed = packed.starts_with(GZIP);
    let whole = Cursor::new(packed.clone()).chain(reader);
    if is_packed {
        return with_beginning(source_name, MultiGzDecoder::new(whole));
    }
    Ok(Opened { source_name, beginning: packed, reader: Box::new(whole) })
}

/// Reads the beginning of what has no gzip around it any more.
fn with_beginning<'archive>(
    source_name: String,
    mut reader: impl Read + 'archive,
) -> Result<Opened<'archive>, TraceError> {
    let beginning = beginning(&source_name, &mut reader)?;
    let whole = Cursor::new(beginning.clone()).chain(reader);
    Ok(Opened { source_name, beginning, reader: Box::new(whole) })
}

/// Reads the beginning. A stream that breaks off counts as its end: whoever reads on meets that
/// again, and knows better what it means.
fn beginning(source_name: &str, reader: &mut impl Read) -> Result<Vec<u8>, TraceError> {
    let mut beginning = Vec::new();
    match reader.take(BEGINNING_BYTES as u64).read_to_end(&mut beginning) {
        Ok(_) => Ok(beginning),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(beginning),
        Err(error) => Err(TraceError::Read { source_name: source_name.to_owned(), error }),
    }
}
