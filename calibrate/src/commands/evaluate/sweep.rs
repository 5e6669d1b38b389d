//! `calibrate evaluate --sweep`: how few points would have been enough.
//!
//! A full table answers for the machine. Whole lines are held out first; of the rest points are
//! chosen as a sweep under a budget does (`choice`), evenly (the lattice of `thin`) and at random,
//! and a model of each share is asked for the lines held out. Once every point costs the same,
//! once what measuring it takes. Left to others: the models (`kernelgauge_model::Oracle`), and how
//! a sweep asks (`sweep::doubtful`).

use kernelgauge_cuda::random::Random;
use kernelgauge_data::{CacheState, DataSet, Family, Machine, Point};
use kernelgauge_model::{EvaluateOptions, Oracle};
use serde::Serialize;

use super::fresh::LIMIT;
use crate::choice::{next_after, priority};
use crate::columns::Columns;
use crate::plan::estimate;
use crate::plan::order::shuffle;
use crate::summary::percent;
use crate::thin;

/// The shares that are tried, of all points or of the time to measure them all.
const SHARES: [f64; 9] = [0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.12, 0.16];

/// Enough is what errs by no more than this times the error of the full table.
const ENOUGH: f64 = 1.25;

/// Points chosen before a committee is asked: it needs so many for its trees.
const FIRST: usize = 200;

/// A way to choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    Adaptive,
    Even,
    Random,
}

/// What was found, by variant.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Version of this layout.
    pub schema_version: u32,
    /// The machine.
    pub machine: String,
    /// Seed of lines held out and of choices.
    pub seed: u64,
    /// Variants with points enough.
    pub variants: Vec<Variant>,
}

/// One variant.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Variant {
    /// Family.
    pub family: Family,
    /// Variant.
    pub variant: String,
    /// State of the operands.
    pub cache: CacheState,
    /// Points of the table, those held out included.
    pub table: usize,
    /// Mean error of all points that may be chosen.
    pub full_error: f64,
    /// By points.
    pub by_points: Curves,
    /// By time of measuring.
    pub by_time: Curves,
}

/// Mean errors by share, and the share at which they are [`ENOUGH`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Curves {
    /// The shares.
    pub shares: Vec<f64>,
    /// Of points where models disagree, per cost.
    pub adaptive: Curve,
    /// Of an even choice.
    pub even: Curve,
    /// Of a random choice.
    pub random: Curve,
}

/// Mean errors of one way to choose.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Curve {
    /// At each share; absent where that makes no model.
    pub errors: Vec<Option<f64>>,
    /// The share that is enough; absent where none that was tried is.
    pub enough: Option<f64>,
}

/// Tries every variant of `data` that has points enough.
pub fn evaluate(data: &DataSet, options: &EvaluateOptions<'_>) -> Report {
    let machine = &data.manifest.machine;
    let oracles = Oracle::all(data, options);
    let variants =
        oracles.iter().filter_map(|oracle| variant(oracle, machine, options.seed)).collect();
    Report { schema_version: 1, machine: machine.name.clone(), seed: options.seed, variants }
}

fn variant(oracle: &Oracle<'_>, machine: &Machine, seed: u64) -> Option<Variant> {
    let (family, name, cache) = oracle.variant();
    let all: Vec<usize> = (0..oracle.points().len()).collect();
    let full_error = oracle.errors(&all)?.mape;
    let rates = estimate::rates_of(machine);
    let costs: Vec<f64> = oracle
        .points()
        .map(|(point, time)| rates.whole_of(point, cache, LIMIT, time).as_f64())
        .collect();
    let alike = vec![1.0; costs.len()];
    // What is held out would have cost as much, point by point.
    let of_table = oracle.table() as f64 / costs.len().max(1) as f64;
    let curves = |costs: &[f64]| {
        let total = costs.iter().sum::<f64>() * of_table;
        let budgets: Vec<f64> = SHARES.iter().map(|share| share * total).collect();
        let curve = |choice| {
            let order = order(oracle, choice, costs, budgets[SHARES.len() - 1], seed);
            curve(oracle, &order, costs, &budgets, full_error)
        };
        Curves {
            shares: SHARES.to_vec(),
            adaptive: curve(Choice::Adaptive),
            even: curve(Choice::Even),
            random: curve(Choice::Random),
        }
    };
    let (by_points, by_time) = (curves(&alike), curves(&costs));
    let (variant, table) = (name.to_owned(), oracle.table());
    Some(Variant { family, variant, cache, table, full_error, by_points, by_time })
}

/// The points in the order they are chosen, until `budget` is spent.
fn order(oracle: &Oracle<'_>, choice: Choice, costs: &[f64], budget: f64, seed: u64) -> Vec<usize> {
    let mut all: Vec<usize> = (0..costs.len()).collect();
    let points: Vec<&Point> = oracle.points().map(|(point, _)| point).collect();
    let numbers = thin::lattice(points.into_iter(), seed);
    match choice {
        Choice::Adaptive => adaptive(oracle, &numbers, costs, budget),
        Choice::Even => {
            all.sort_by(|a, b| numbers[*a].total_cmp(&numbers[*b]).then(a.cmp(b)));
            all
        }
        Choice::Random => {
            shuffle(&mut all, &mut Random::new(seed));
            all
        }
    }
}

/// As a sweep chooses: doubts are asked for again whenever a quarter was added.
fn adaptive(oracle: &Oracle<'_>, numbers: &[f64], costs: &[f64], budget: f64) -> Vec<usize> {
    let mut chosen: Vec<usize> = Vec::new();
    let mut is_chosen = vec![false; costs.len()];
    let mut spent = 0.0;
    while spent < budget && chosen.len() < costs.len() {
        let doubts = oracle.doubts(&chosen);
        let key = |place: usize| {
            let doubt = doubts.as_ref().and_then(|doubts| doubts.get(place)).copied();
            priority(numbers[place], doubt, costs[place])
        };
        let mut left: Vec<(f64, usize)> = (0..costs.len())
            .filter(|place| !is_chosen[*place])
            .map(|place| (key(place), place))
            .collect();
        left.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let until = if chosen.is_empty() { FIRST } else { next_after(chosen.len(), 1) };
        for (_, place) in left.into_iter().take(until - chosen.len()) {
            is_chosen[place] = true;
            spent += costs[place];
            chosen.push(place);
        }
    }
    chosen
}

/// Errors of the points of `order` that each budget pays for.
fn curve(
    oracle: &Oracle<'_>,
    order: &[usize],
    costs: &[f64],
    budgets: &[f64],
    full_error: f64,
) -> Curve {
    let errors: Vec<Option<f64>> = budgets
        .iter()
        .map(|budget| {
            let mut spent = 0.0;
            let paid = order.iter().take_while(|place| {
                spent += costs[**place];
                spent <= *budget
            });
            oracle.errors(&order[..paid.count()]).map(|errors| errors.mape)
        })
        .collect();
    let enough = enough(&errors, full_error * ENOUGH);
    Curve { errors, enough }
}

/// The share from which on errors are at most `target`, between the shares tried on a straight
/// line of logarithms.
fn enough(errors: &[Option<f64>], target: f64) -> Option<f64> {
    let is_enough = |error: &Option<f64>| error.is_some_and(|error| error <= target);
    let first = errors.len() - errors.iter().rev().take_while(|error| is_enough(error)).count();
    let (above, share) = (errors.get(first).copied().flatten()?, SHARES.get(first).copied()?);
    let before = first.checked_sub(1).and_then(|before| Some((errors[before]?, SHARES[before])));
    let Some((error, less)) = before else { return Some(share) };
    let weight = (error.ln() - target.ln()) / (error.ln() - above.ln());
    Some((less.ln() + weight * (share.ln() - less.ln())).exp())
}

impl Report {
    /// Two rows per variant and share, and what was enough.
    pub fn columns(&self) -> Columns {
        let heading = ["variant", "of all", "share>", "adaptive>", "even>", "random>"];
        let mut columns = Columns::new(&heading);
        for variant in &self.variants {
            let mut name = format!("{} {}", variant.family, variant.variant);
            if variant.cache != CacheState::Unstated {
                name = format!("{name} {}", variant.cache.name());
            }
            let full = format!("{name}: error of all");
            let all = percent_fine(variant.full_error);
            columns.row([full, "points".to_owned(), percent(1.0), all.clone(), all.clone(), all]);
            for (of, curves) in [("points", &variant.by_points), ("time", &variant.by_time)] {
                let three = [&curves.adaptive, &curves.even, &curves.random];
                for (place, share) in curves.shares.iter().enumerate() {
                    let [adaptive, even, random] = three.map(|curve| {
                        let error = curve.errors.get(place).copied().flatten();
                        error.map_or_else(|| "-".to_owned(), percent_fine)
                    });
                    columns.row([
                        format!("{name}: error"),
                        of.to_owned(),
                        percent(*share),
                        adaptive,
                        even,
                        random,
                    ]);
                }
                let [adaptive, even, random] = three.map(|curve| match curve.enough {
                    Some(share) => percent_fine(share),
                    None => "more".to_owned(),
                });
                let enough = format!("{name}: enough");
                columns.row([enough, of.to_owned(), String::new(), adaptive, even, random]);
            }
        }
        columns
    }
}

fn percent_fine(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use kernelgauge_data::{
        Conditions, Dtype, Flags, Hardware, Links, Manifest, Measurement, MemoryOp, MemoryPoint,
        Nanos, Origin, Outcome, Record,
    };

    use super::*;

    /// As many lines as points of each; rows of so many elements take a detour.
    fn data(side: u64, detour: impl Fn(u64) -> f64) -> DataSet {
        let machine = Machine {
            name: "made-up".to_owned(),
            device: "Made-up".to_owned(),
            count: 1,
            links: Links::Unstated,
            software: BTreeMap::new(),
            hardware: Hardware::default(),
        };
        let record = |rows: u64, columns: u64| {
            let bytes = (rows * columns * 8) as f64;
            let time = Nanos::saturating((2_000.0 + bytes / 1_000.0) * detour(columns));
            Record {
                point: Point::Memory(MemoryPoint {
                    op: MemoryOp::Softmax,
                    dtype: Dtype::F32,
                    rows,
                    columns,
                }),
                conditions: Conditions::default(),
                outcome: Outcome::Measured(Measurement::stated(time)),
                flags: Flags::NONE,
            }
        };
        let steps = || (0..side).map(|step| 16 + step * step * 7);
        let records = steps().flat_map(|rows| steps().map(move |columns| (rows, columns)));
        let records = records.map(|(rows, columns)| record(rows, columns)).collect();
        DataSet { manifest: Manifest::new(machine, Origin::Synthetic), records }
    }

    #[test]
    fn a_table_answers_for_the_machine() {
        // A step that trees follow and nothing simpler does.
        let data = data(48, |columns| if columns / 2500 % 2 == 1 { 1.5 } else { 1.0 });
        let report = evaluate(&data, &EvaluateOptions::default());
        assert_eq!(report.variants.len(), 1);
        let found = &report.variants[0];
        assert_eq!(found.table, 48 * 48);
        for curve in [&found.by_points.adaptive, &found.by_points.even, &found.by_time.random] {
            let known: Vec<f64> = curve.errors.iter().flatten().copied().collect();
            assert!(known.len() >= 7, "{known:?}");
            // Few points make a model without trees.
            let (few, many) = (known[known.len() / 2], known[known.len() - 1]);
            assert!(many < few, "{known:?}");
            assert!(found.full_error < few, "{} {few}", found.full_error);
        }
        let text = report.columns().text();
        assert!(text.contains("memory softmax/f32: enough"), "{text}");
    }

    #[test]
    fn doubt_goes_where_models_cannot_follow() {
        let winding =
            |columns| if columns > 2000 { 1.0 + 0.5 * (columns as f64).sin() } else { 1.0 };
        let data = data(40, winding);
        let oracle = &Oracle::all(&data, &EvaluateOptions::default())[0];
        let points: Vec<&Point> = oracle.points().map(|(point, _)| point).collect();
        let numbers = thin::lattice(points.iter().copied(), 0);
        let chosen = adaptive(oracle, &numbers, &vec![1.0; points.len()], 400.0);
        let is_winding =
            |place: &usize| matches!(points[*place], Point::Memory(op) if op.columns > 2000);
        assert_eq!(chosen, adaptive(oracle, &numbers, &vec![1.0; points.len()], 400.0));
        let share = |of: &[usize]| {
            of.iter().filter(|place| is_winding(place)).count() as f64 / of.len() as f64
        };
        let all: Vec<usize> = (0..points.len()).collect();
        assert!(share(&chosen[FIRST..]) > 1.15 * share(&all), "{}", share(&chosen[FIRST..]));
        // What is dear is put off, all else being equal.
        let dear: Vec<f64> =
            all.iter().map(|place| if place % 2 == 0 { 100.0 } else { 1.0 }).collect();
        let chosen = adaptive(oracle, &numbers, &dear, 3000.0);
        let cheap = chosen.iter().filter(|place| *place % 2 == 1).count();
        assert!(cheap * 2 > chosen.len(), "{cheap} of {}", chosen.len());
    }

    #[test]
    fn what_is_enough_lies_between_the_shares_tried_and_stays_enough() {
        let errors = |of: [f64; 9]| of.map(Some).to_vec();
        let falling = errors([9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0]);
        assert!((enough(&falling, 4.0).unwrap() - 0.06).abs() < 1e-12);
        let between = enough(&falling, 3.5).unwrap();
        assert!(between > 0.06 && between < 0.08, "{between}");
        // A share that is worse again was luck.
        let lucky = errors([9.0, 3.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0]);
        assert!(enough(&lucky, 3.5).unwrap() > 0.06);
        assert_eq!(enough(&falling, 10.0), Some(0.01));
        assert_eq!(enough(&falling, 0.5), None);
    }
}
