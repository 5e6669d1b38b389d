//! Chakra traces with the groups they refer to.

use std::io::Write;

use kernelgauge_trace::Graph;
use kernelgauge_trace::chakra::export::{self, GroupNumbers};
use kernelgauge_trace::chakra::{self, rules};

use super::whole::Folder;
use super::{ConvertError, Report};
use crate::error::CommandError;

/// `chakra.0.et` and so on, and `comm_group.json`; every rank is checked against the rules of
/// the format before it is written.
pub(super) fn write(
    graph: &Graph,
    folder: &Folder,
    report: &mut Report<'_>,
) -> Result<(), CommandError> {
    let groups = GroupNumbers::of(graph);
    for (place, rank) in graph.ranks.iter().enumerate() {
        let number = rank.number;
        let (trace, exported) = export::rank(graph, &groups, place)?;
        let violations = rules::check(&trace);
        if let Some(first) = violations.first() {
            let problem = format!("{first} ({} in all)", violations.len());
            return Err(ConvertError::Rule { rank: number, problem }.into());
        }
        let name = format!("chakra.{number}.et");
        let (path, ()) = folder.write(&name, |file| chakra::write(&trace, file))?;
        let nodes = trace.nodes.len();
        report.wrote(&path, &format!("{nodes} nodes, {} communicate", exported.communication))?;
        for (reason, count) in &exported.computation_instead {
            let what = format!("collectives became computation: {reason}");
            report.counted(number, *count, &what)?;
        }
        report.counted(
            number,
            exported.assumed_all_ranks,
            "collectives state no group; all ranks are assumed",
        )?;
        report.counted(
            number,
            exported.uneven,
            "all-to-alls have unequal parts; their sum is kept",
        )?;
        report.counted(number, exported.untimed, "tasks have no time and take none")?;
    }
    let (path, ()) =
        folder.write("comm_group.json", |file| file.write_all(groups.to_json().as_bytes()))?;
    report.wrote(&path, "groups that are not all ranks")
}
