//! `calibrate evaluate` on points held out of the fit, beside what others reach and below what
//! may not be exceeded.

use kernelgauge_data::{DataSet, ExitStatus, Family};
use kernelgauge_model::{
    BasisChoice, EvaluateOptions, Evaluation, EvaluationRow, Peer, Split, evaluate, evaluate_among,
};

use super::figures::{self, Figure, Limit, PeerFigure};
use crate::args::Format;
use crate::args::evaluate::{EvaluateArguments, HeldOut, Part};
use crate::commands::Surroundings;
use crate::commands::fit::{lenders, others};
use crate::error::{CommandError, UsageError, print};
use crate::finish;

/// Evaluates the families `chosen` of `data`.
///
/// # Errors
/// A file beside that cannot be read.
pub(super) fn run(
    chosen: &[Family],
    mut data: DataSet,
    arguments: &EvaluateArguments,
    around: &mut Surroundings<'_>,
) -> Result<ExitStatus, CommandError> {
    only(chosen, &mut data);
    // Read before the fits: a mistake in a file must not cost their time.
    let peers: Vec<PeerFigure> =
        arguments.peers.as_deref().map_or(Ok(Vec::new()), figures::read)?;
    let limits: Vec<Limit> = arguments.limits.as_deref().map_or(Ok(Vec::new()), figures::read)?;
    let repeat = match &arguments.repeat {
        Some(folder) => Some(DataSet::read(&finish::data_folder(folder))?),
        None => None,
    };
    if let Some(repeat) = &repeat {
        same_machine(&data, repeat)?;
    }
    let lenders = lenders(&data, &arguments.borrow)?;
    let mut among = others(&data, &arguments.among)?;
    among.iter_mut().for_each(|data| only(chosen, data));
    let options = EvaluateOptions {
        seed: arguments.seed,
        bands: arguments.bands.clone(),
        splits: splits(&arguments.splits),
        lenders: &lenders,
        repeat: repeat.as_ref(),
        basis: basis(arguments.basis),
        detail: arguments.detail.parse()?,
    };
    let mut evaluation = if among.is_empty() {
        evaluate(&data, &options)
    } else {
        among.insert(0, data);
        evaluate_among(&among, &options)
    };
    set_beside(&mut evaluation, &peers);
    let text = match arguments.format {
        Format::Table => evaluation.table(),
        Format::Markdown => evaluation.markdown(),
        Format::Json => evaluation.json(),
    };
    print(around.stdout, &text)?;
    if evaluation.rows.is_empty() {
        around.warn("nothing could be held out", Some("a variant needs at least four points"));
        return Ok(ExitStatus::Findings);
    }
    Ok(judge(&evaluation, &limits, chosen, &options.splits, around))
}

/// Leaves the families `chosen` in `data`.
fn only(chosen: &[Family], data: &mut DataSet) {
    data.records.retain(|record| chosen.contains(&record.point.family()));
}

/// Another machine's times are no second measurement of this one's.
fn same_machine(data: &DataSet, repeat: &DataSet) -> Result<(), UsageError> {
    let [one, other] = [data, repeat].map(|set| &set.manifest.machine);
    if one.device == other.device {
        return Ok(());
    }
    Err(UsageError::mistake(
        format!("{} was measured on {}, and the repeat on {}", one.name, one.device, other.device),
        "`--repeat` takes another measurement of the same machine; `calibrate compare` takes two",
    ))
}

fn splits(asked: &[HeldOut]) -> Vec<Split> {
    if asked.is_empty() {
        return Split::ALL.to_vec();
    }
    let split = |held_out: &HeldOut| match held_out {
        HeldOut::Point => Split::Point,
        HeldOut::Line => Split::Line,
        HeldOut::EverySecond => Split::EverySecond,
        HeldOut::SisterDtype => Split::SisterDtype,
        HeldOut::Frontier => Split::Frontier,
        HeldOut::FarFrontier => Split::FarFrontier,
        HeldOut::WideFrontier => Split::WideFrontier,
        HeldOut::Ranks => Split::Ranks,
        HeldOut::FewPoints => Split::FewPoints,
        HeldOut::FewShot => Split::FewShot,
        HeldOut::UnseenMachine => Split::UnseenMachine,
    };
    asked.iter().map(split).collect()
}

fn basis(part: Part) -> BasisChoice {
    match part {
        Part::Best => BasisChoice::Best,
        Part::Analytical => BasisChoice::Analytical,
        Part::Learned => BasisChoice::Learned,
        Part::Hybrid => BasisChoice::Hybrid,
    }
}

fn set_beside(evaluation: &mut Evaluation, peers: &[PeerFigure]) {
    let share = |percent: Option<f64>| percent.map(|percent| percent / 100.0);
    for row in &mut evaluation.rows {
        let about = peers.iter().filter(|figure| figure.is_about(&evaluation.machine, row));
        let peers = about.map(|figure| Peer {
            name: figure.name.clone(),
            mape: share(figure.mape),
            median: share(figure.median),
            p90: share(figure.p90),
        });
        row.peers = peers.collect();
    }
}

/// Names what exceeds its limit, and limits of this machine that no row was found for.
fn judge(
    evaluation: &Evaluation,
    limits: &[Limit],
    chosen: &[Family],
    splits: &[Split],
    around: &mut Surroundings<'_>,
) -> ExitStatus {
    let mut status = ExitStatus::Success;
    let machine = evaluation.machine.as_str();
    let asked = |limit: &&Limit| {
        let [of_machine, family, _, split] = limit.names();
        of_machine == machine
            && chosen.iter().any(|chosen| chosen.name() == family)
            && splits.iter().any(|asked| asked.name() == split)
    };
    if !limits.is_empty() && !limits.iter().any(|limit| asked(&limit)) {
        around.say(&format!("note: no limit is about what was evaluated of {machine}"));
    }
    for limit in limits.iter().filter(asked) {
        let [_, family, variant, split] = limit.names();
        let found = evaluation.rows.iter().find(|row| limit.is_about(machine, row));
        let findings =
            found.map_or_else(|| vec!["was not evaluated".to_owned()], |row| excess(limit, row));
        for finding in findings {
            around.warn(&format!("{machine} {family} {variant} {split}: {finding}"), None);
            status = ExitStatus::Findings;
        }
    }
    status
}

/// What of `row` is beyond `limit`, in words.
fn excess(limit: &Limit, row: &EvaluationRow) -> Vec<String> {
    let most = [
        ("mean error", limit.mape, row.model.mape),
        ("median error", limit.median, row.model.median),
        ("90th percentile", limit.p90, row.model.p90),
        ("coverage", limit.covered_most, row.coverage),
    ];
    let above = most.into_iter().filter_map(|(name, limit, value)| {
        let (limit, value) = (limit?, value * 100.0);
        (value > limit).then(|| format!("{name} {value:.2} % is above {limit} %"))
    });
    let covered = row.coverage * 100.0;
    let below = limit
        .covered_least
        .filter(|least| covered < *least)
        .map(|least| format!("coverage {covered:.1} % is below {least} %"));
    above.chain(below).collect()
}
