//! Chrome traces and tables of tasks.

use std::io;

use flate2::Compression;
use flate2::write::GzEncoder;
use kernelgauge_trace::Graph;
use kernelgauge_trace::write::{chrome as timelines, csv as tables};

use super::Report;
use super::whole::Folder;
use crate::error::CommandError;

/// `rank0.json.gz` and so on.
pub(super) fn chrome(
    graph: &Graph,
    folder: &Folder,
    report: &mut Report<'_>,
) -> Result<(), CommandError> {
    for (place, rank) in (0..).zip(&graph.ranks) {
        let name = format!("rank{}.json.gz", rank.number);
        let (path, written) = folder.write(&name, |file| {
            let mut compressed = GzEncoder::new(file, Compression::default());
            let written = timelines::rank(graph, place, &mut compressed)?;
            compressed.finish()?;
            Ok(written)
        })?;
        report.wrote(&path, &format!("{} events", written.events))?;
        report.counted(rank.number, written.untimed, "calls and tasks without times left out")?;
    }
    Ok(())
}

/// `tasks.csv` with all ranks.
pub(super) fn csv(
    graph: &Graph,
    folder: &Folder,
    report: &mut Report<'_>,
) -> Result<(), CommandError> {
    let (path, tasks) =
        folder.write("tasks.csv", |file| tables::tasks(graph, file).map_err(io::Error::from))?;
    report.wrote(&path, &format!("{tasks} tasks"))
}
