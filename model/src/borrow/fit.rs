//! One variant's model of own rows and of what lenders know, by how many own rows there are.
//!
//! * none or a few: the lenders' law, moved by the rows as far as they tell, and the lenders'
//!   correction; the interval is that of lenders about each other;
//! * some: laws adapted from the lenders and fitted alone, distilled;
//! * many: as without lenders.
//!
//! Beyond the sizes that the machine measured, but within those of its lenders, a correction
//! that was learned from both answers, if it won on the largest sizes that can be held out.

use kernelgauge_data::{Family, Point};

use super::loans::{Lender, Lent, Loans};
use super::{Borrowed, distil};
use crate::correction::{Candidate, Correction, Lessons};
use crate::domain::Domain;
use crate::fit::{
    Group, Held as HeldRows, VariantTask, dealt, fit_variant, lessons, line_folds, point_folds,
    residuals, split, top_octaves,
};
use crate::held_out::{HeldOut, RegionError};
use crate::interval::{Band, Held, Intervals, Residuals};
use crate::lines::Lines;
use crate::rows::Row;
use crate::shape::{replaced, with_parameters};
use crate::terms::{AnalyticalTerm, Features, counts_steps, tried_curves};
use crate::variant::VariantModel;

/// From this many rows on a machine's own corrections can be told from noise.
const SOME: usize = 100;

/// Up to here few-row regressions pay; their cost grows with the square.
const MANY: usize = 2500;

/// Most points that teachers are asked at.
const ASKED: usize = 20_000;

/// Octaves held out to see what lenders know of sizes beyond the machine's own.
const INNER_OCTAVES: u32 = 3;

/// The band of one lender's word, about whom no other can be asked: a factor of two.
const ONE_WORD: Band = Band(-0.7, 0.7);

/// Fits a variant of `task.machine` to its `own` rows, of which there may be none, and to what
/// `lenders` measured of the same variant; `groups` are all variants of the machine. None where
/// there are too few rows and nobody lends.
pub(crate) fn fit_variant_borrowing(
    task: &VariantTask<'_>,
    own: &Group<'_>,
    groups: &[Group<'_>],
    lenders: &[Lender<'_>],
) -> Option<VariantModel> {
    let rows = &own.rows[..];
    let is_enough = own.insufficient().is_none();
    let asked_of = lenders.iter().flat_map(Lender::groups).chain(groups);
    let same = |group: &&Group<'_>| group.family == task.family && group.name == task.name;
    let example = asked_of.filter(same).find_map(|group| group.rows.first())?.point;
    let lenders = if counts_steps(task.machine) { &[] } else { lenders };
    if task.family == Family::Collective {
        return is_enough.then(|| guided(task, rows, lenders));
    }
    let loans = Loans::of(task, example, groups, lenders);
    match (rows.len(), &loans) {
        (0..SOME, Some(loans)) => match loans.lent() {
            Some(lent) => Some(leaning(task, rows, loans, lent)),
            None => is_enough.then(|| fit_variant(task, rows)),
        },
        (SOME..=MANY, _)
            if is_enough && task.family == Family::Gemm && !counts_steps(task.machine) =>
        {
            let lent = loans.as_ref().and_then(|loans| Some((loans, loans.lent()?)));
            let model = few(task, rows, lent.as_ref().map(|(loans, lent)| (*loans, lent)));
            Some(farther(task, rows, loans.as_ref(), model))
        }
        _ => is_enough.then(|| farther(task, rows, loans.as_ref(), fit_variant(task, rows))),
    }
}

/// A collective's model, its curves guided by the lenders' between own points. Where these are
/// few, nothing can be held out of them that would tell how wrong the rest is: the lenders are
/// asked about each other.
fn guided(task: &VariantTask<'_>, rows: &[Row<'_>], lenders: &[Lender<'_>]) -> VariantModel {
    let guides: Vec<Vec<Row<'_>>> =
        lenders.iter().map(Lender::collectives).filter(|rows| !rows.is_empty()).collect();
    let slices: Vec<&[Row<'_>]> = guides.iter().map(Vec::as_slice).collect();
    let tried = Band::of(tried_curves(rows, &slices));
    let kin = task.kin.clone().guided_by(guides);
    let model = fit_variant(&VariantTask { kin: &kin, ..*task }, rows);
    let Some(band) = tried else { return model };
    VariantModel { intervals: model.intervals.with_between(band), ..model }
}

/// A model that rests on lenders.
fn leaning(
    task: &VariantTask<'_>,
    rows: &[Row<'_>],
    loans: &Loans<'_, '_>,
    lent: Lent,
) -> VariantModel {
    let term = match rows {
        [] => lent.term.of(&loans.figures, None),
        rows => lent.term.adapted(&loans.figures, rows),
    };
    let everywhere: Vec<Row<'_>> = loans.rows().chain(rows).cloned().collect();
    let band = Band::of(lent.residuals.clone()).unwrap_or(ONE_WORD);
    let all = Residuals {
        unseen: lent.residuals.iter().copied().map(Held::of_no_time).collect(),
        analytical: lent.analytical,
        ..Residuals::default()
    };
    let held_out = HeldOut::of(&all);
    let mut intervals = Intervals::of(&all);
    intervals.unseen = intervals.unseen.joined(band);
    intervals.near = intervals.near.joined(band);
    VariantModel {
        family: task.family,
        name: task.name.to_owned(),
        cache: task.cache,
        domain: Domain::of(&everywhere),
        term,
        correction: Correction::None,
        learned: None,
        blend: 0.0,
        confined: false,
        lines: if rows.is_empty() { Lines::none_like(&everywhere) } else { Lines::of(rows) },
        intervals,
        held_out,
        borrowed: Some(Borrowed {
            from: loans.names(),
            own: None,
            correction: lent.correction,
            band,
            error: RegionError::of(&lent.residuals),
        }),
    }
}

/// The laws that few rows are taught by: fitted alone, and of each lender adapted and as it is.
/// How near lenders are does not matter here, only that their laws err in other ways.
fn laws(
    task: &VariantTask<'_>,
    rows: &[Row<'_>],
    lent: Option<(&Loans<'_, '_>, &Lent)>,
) -> Vec<AnalyticalTerm> {
    let alone = AnalyticalTerm::fit(task.family, rows, &[], task.machine, task.cache);
    let Some((loans, lent)) = lent else { return vec![alone] };
    let mut laws = vec![alone];
    for term in &lent.each {
        laws.push(term.adapted(&loans.figures, rows));
        laws.push(term.of(&loans.figures, None));
    }
    laws
}

/// A model of few rows; what is held out of it is taught anew.
fn few(
    task: &VariantTask<'_>,
    rows: &[Row<'_>],
    lent: Option<(&Loans<'_, '_>, &Lent)>,
) -> VariantModel {
    let asked = |rows: &[Row<'_>]| spanned(rows, lent.map(|(loans, _)| loans));
    let taught = |rows: &[Row<'_>]| {
        let laws = laws(task, rows, lent);
        let correction = distil::distilled(&laws, rows, &asked(rows));
        let term = laws.into_iter().next()?;
        Some(VariantModel {
            family: task.family,
            name: task.name.to_owned(),
            cache: task.cache,
            domain: Domain::of(rows),
            term,
            correction,
            learned: None,
            blend: 0.0,
            confined: false,
            lines: Lines::of(rows),
            intervals: Intervals::of(&Residuals::default()),
            held_out: HeldOut::default(),
            borrowed: None,
        })
    };
    let dealt = dealt(rows.len());
    let mut held: Vec<HeldRows> = point_folds(rows, task.seed, dealt);
    held.extend(line_folds(rows, task.seed, dealt));
    let mut all = Residuals::default();
    for held in &held {
        let (kept, out) = split(rows, held);
        if let Some(model) = taught(&kept) {
            all.extend(residuals(&model, &out));
        }
    }
    let Some(mut model) = taught(rows) else { return fit_variant(task, rows) };
    model.intervals = Intervals::of(&all);
    model.held_out = HeldOut::of(&all);
    model
}

/// Every axis value on every line of `rows`, and the lenders' points, within the domain of
/// `rows`: where teachers are asked.
fn spanned(rows: &[Row<'_>], loans: Option<&Loans<'_, '_>>) -> Vec<Point> {
    let Some(first) = rows.first() else { return Vec::new() };
    let (domain, axis) = (Domain::of(rows), first.point.axis());
    let mut values: Vec<u64> = rows.iter().map(|row| row.parameters[axis]).collect();
    values.sort_unstable();
    values.dedup();
    let mut keys: Vec<_> = rows.iter().map(|row| replaced(&row.parameters, axis, 0)).collect();
    keys.sort();
    keys.dedup();
    let own = keys.iter().flat_map(|key| values.iter().map(|value| replaced(key, axis, *value)));
    let lent = loans.into_iter().flat_map(|loans| loans.rows().map(|row| row.parameters));
    let inside = |parameters: &_| domain.locate(parameters).octaves == 0.0;
    let mut all: Vec<_> = own.chain(lent).filter(inside).collect();
    all.sort();
    all.dedup();
    let stride = all.len().div_ceil(ASKED).max(1);
    all.iter().step_by(stride).map(|parameters| with_parameters(first.point, parameters)).collect()
}

/// The fold that holds the largest sizes out, as many octaves as in what is reported elsewhere.
fn inner_frontier(rows: &[Row<'_>]) -> Option<HeldRows> {
    let held = top_octaves(rows, rows.first()?.point.axis(), INNER_OCTAVES);
    let kept = held.iter().filter(|held| !**held).count();
    (kept >= SOME && kept < rows.len()).then_some(held)
}

/// A correction of `term` learned from own rows and from lenders' beside their own terms.
fn common(
    task: &VariantTask<'_>,
    rows: &[Row<'_>],
    term: &AnalyticalTerm,
    loans: &Loans<'_, '_>,
) -> Correction {
    let mut all: Lessons = lessons(rows, term);
    loans.taught(task, &mut all);
    Candidate::ManyTrees.fit(&all)
}

/// Adds what lenders know of sizes beyond the machine's own, if there are any and they help.
fn farther(
    task: &VariantTask<'_>,
    rows: &[Row<'_>],
    loans: Option<&Loans<'_, '_>>,
    mut model: VariantModel,
) -> VariantModel {
    let Some(loans) = loans else { return model };
    let everywhere: Vec<Row<'_>> = rows.iter().chain(loans.rows()).cloned().collect();
    let wider = Domain::of(&everywhere);
    if wider == model.domain {
        return model;
    }
    let Some(held) = inner_frontier(rows) else { return model };
    let (kept, out) = split(rows, &held);
    let term = AnalyticalTerm::fit(task.family, &kept, &[], task.machine, task.cache);
    let correction = common(task, &kept, &term, loans);
    let mut features = Features::new();
    let residuals: Vec<f64> = out
        .iter()
        .map(|row| {
            let law = term.log_ns(row.point, &mut features);
            row.log_ns - law - correction.log_ratio(&features, &row.parameters)
        })
        .collect();
    let Some(band) = Band::of(residuals.clone()) else { return model };
    let correction = common(task, rows, &model.term, loans);
    let own = std::mem::replace(&mut model.domain, wider);
    model.borrowed = Some(Borrowed {
        from: loans.names(),
        own: Some(own),
        correction,
        band,
        error: RegionError::of(&residuals),
    });
    model
}
