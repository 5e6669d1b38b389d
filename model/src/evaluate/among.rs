//! Many machines, each evaluated with all the others to borrow from.
//!
//! What one source measured of several machines has its habits in common, and often its links and
//! its switches: machines with a file from the same source do not lend to each other, so that each
//! is as new to its lenders as one from elsewhere. Left to others: what is held out (`splits`) and
//! how a machine is asked (`mod`).

use std::collections::BTreeSet;

use kernelgauge_data::{CacheState, DataSet, Family, Origin};

use super::{Answers, EvaluateOptions, Evaluation, EvaluationRow, Split, answers, row};
use crate::borrow::Lender;
use crate::fit::{Group, groups};

/// The name of an evaluation of several machines, and of its rows over all of them.
const ALL_MACHINES: &str = "all";

/// Evaluates every one of `machines`, the rest of them and `options.lenders` lending, as far as
/// they come from other sources. Rows are named by machine, in the order given, and end with one
/// over all points of all machines for each family and split.
pub fn evaluate_among(machines: &[DataSet], options: &EvaluateOptions<'_>) -> Evaluation {
    let of_machines: Vec<(Vec<Group<'_>>, Vec<Answers>)> = machines
        .iter()
        .map(|data| {
            let groups = groups(&data.records);
            let others =
                machines.iter().chain(options.lenders).filter(|other| are_apart(data, other));
            let lenders: Vec<Lender<'_>> = others.map(Lender::of).collect();
            let answers = answers(&groups, &data.manifest.machine, &lenders, options);
            (groups, answers)
        })
        .collect();
    let kinds: BTreeSet<(Family, Split)> = of_machines
        .iter()
        .flat_map(|(groups, answers)| answers.iter().map(|a| (groups[a.group].family, a.split)))
        .collect();
    let mut rows = Vec::new();
    for kind in kinds {
        let mut everything = Vec::new();
        for (data, (groups, answers)) in machines.iter().zip(&of_machines) {
            let is_of_kind = |a: &&Answers| (groups[a.group].family, a.split) == kind;
            let of_kind: Vec<&Answers> = answers.iter().filter(is_of_kind).collect();
            rows.extend(summed(&data.manifest.machine.name, kind, &of_kind));
            everything.extend(of_kind);
        }
        rows.extend(summed(ALL_MACHINES, kind, &everything));
    }
    Evaluation { machine: ALL_MACHINES.to_owned(), rows }
}

/// Whether two data sets are not the same and have no source in common. What this tool measured
/// states itself as the source, wherever it ran.
fn are_apart(one: &DataSet, other: &DataSet) -> bool {
    let sources = |data: &DataSet| -> BTreeSet<String> {
        let is_imported = data.manifest.origin == Origin::Imported;
        let files = data.manifest.files.iter().filter(|_| is_imported);
        files.map(|file| file.source.clone()).collect()
    };
    !std::ptr::eq(one, other) && sources(one).is_disjoint(&sources(other))
}

fn summed(name: &str, kind: (Family, Split), answers: &[&Answers]) -> Option<EvaluationRow> {
    if answers.is_empty() {
        return None;
    }
    let (family, cache) = (kind.0, CacheState::Unstated);
    row(name, &Group { family, name: name.to_owned(), cache, rows: Vec::new() }, answers)
}
