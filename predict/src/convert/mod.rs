//! `predict convert`: recorded work in the formats of other tools.
//!
//! Left to others: what is in the files (`kernelgauge-trace`: `input`, `build`, `write`,
//! `chakra`). Here is only where files go, what is said of them, and that no input is touched.

mod chakra;
mod error;
mod timeline;
mod whole;

use std::io::Write;

use kernelgauge_data::ExitStatus;

use self::whole::Folder;
use crate::args::trace::{ConvertArguments, TraceFormat};
use crate::error::CommandError;
use crate::terminal::harmless;
use crate::{inspect, notes};

pub use error::ConvertError;

/// Runs the command: names of written files go to `stdout`, what was assumed or left out to
/// `stderr`.
///
/// # Errors
///
/// Files that cannot be read or written, and what the format cannot say.
pub fn run(
    arguments: &ConvertArguments,
    stdout: &mut dyn Write,
    stderr: &mut dyn Write,
) -> Result<ExitStatus, CommandError> {
    let graph = inspect::graph(&arguments.traces, stderr)?;
    let folder = Folder::new(&arguments.out, &arguments.traces.files);
    let mut report = Report { stdout, stderr };
    match arguments.to {
        TraceFormat::Chakra => chakra::write(&graph, &folder, &mut report)?,
        TraceFormat::Chrome => timeline::chrome(&graph, &folder, &mut report)?,
        TraceFormat::Csv => timeline::csv(&graph, &folder, &mut report)?,
    }
    Ok(ExitStatus::Success)
}

/// Where it is said what was done.
struct Report<'a> {
    stdout: &'a mut dyn Write,
    stderr: &'a mut dyn Write,
}

impl Report<'_> {
    fn wrote(&mut self, path: &std::path::Path, what: &str) -> Result<(), CommandError> {
        let path = harmless(&path.display().to_string());
        writeln!(self.stdout, "wrote {path}   {what}")?;
        Ok(())
    }

    /// A note with a count, unless the count is zero.
    fn counted(&mut self, rank: u32, count: u64, what: &str) -> Result<(), CommandError> {
        if count > 0 {
            notes::note(self.stderr, &format!("rank {rank}: {count} {what}"))?;
        }
        Ok(())
    }
}
