//! Which points are held out together.
//!
//! Point folds hold single points of lines out, so that their neighbours stay; line folds hold
//! lines out whole; axis folds hold whole values of the axis out, so that gaps of several sizes
//! are seen at values that no line has; frontiers hold out the top octaves of the axis.

use kernelgauge_data::point::Parameters;

use crate::math::Stream;
use crate::rows::Row;

/// Variants of at most this many points get every fold, larger ones two.
pub(super) const SMALL: usize = 400;

/// Folds that points or lines are dealt to where candidates are compared.
pub(crate) const DEALT: u64 = 5;

/// The same where there are many and errors are learned: the less is left out, the closer these
/// are to the errors of a fit on everything.
const DEALT_OF_MANY: u64 = 10;

/// Folds that so many rows are dealt to where errors are learned.
pub(crate) fn dealt(rows: usize) -> u64 {
    if rows <= SMALL { DEALT } else { DEALT_OF_MANY }
}

/// Whether each row is held out, per fold.
pub(crate) type Held = Vec<bool>;

fn used(rows: usize) -> u64 {
    if rows <= SMALL { DEALT } else { 2 }
}

/// A number that depends on a point, a salt and the seed, not on the order of the rows.
fn deal(parameters: &[u64], salt: u64, seed: u64, folds: u64) -> u64 {
    let mut mixed = Stream::new(seed ^ salt).next();
    for value in parameters {
        mixed = Stream::new(mixed ^ value.wrapping_mul(0x9e37_79b9_7f4a_7c15)).next();
    }
    mixed % folds
}

/// Folds that hold single points out, each one of `dealt`.
pub(crate) fn point_folds(rows: &[Row<'_>], seed: u64, dealt: u64) -> Vec<Held> {
    let fold_of: Vec<u64> = rows.iter().map(|row| deal(&row.parameters, 1, seed, dealt)).collect();
    folds(&fold_of, used(rows.len()))
}

/// Folds that hold lines out; where there are few lines, each once.
pub(crate) fn line_folds(rows: &[Row<'_>], seed: u64, dealt: u64) -> Vec<Held> {
    let Some(first) = rows.first() else { return Vec::new() };
    let axis = first.point.axis();
    let keys: Vec<Parameters> = rows.iter().map(|row| key_of(row, axis)).collect();
    let mut distinct = keys.clone();
    distinct.sort();
    distinct.dedup();
    if distinct.len() < 2 {
        return Vec::new();
    }
    let few = distinct.len() as u64 <= dealt;
    let fold_of: Vec<u64> = keys
        .iter()
        .map(|key| match distinct.binary_search(key) {
            Ok(index) if few => index as u64,
            _ => deal(key, 2, seed, dealt),
        })
        .collect();
    folds(&fold_of, if few { distinct.len() as u64 } else { used(rows.len()) })
}

fn key_of(row: &Row<'_>, axis: usize) -> Parameters {
    crate::shape::replaced(&row.parameters, axis, 0)
}

/// Folds that hold every second value of the axis out, from either end: where kernels take
/// values of one kind faster, one half errs to one side and the other to the other. Where there
/// are few rows, also three values of four.
pub(super) fn axis_folds(rows: &[Row<'_>]) -> Vec<Held> {
    let Some(first) = rows.first() else { return Vec::new() };
    let axis = first.point.axis();
    let mut values: Vec<u64> = rows.iter().map(|row| row.parameters[axis]).collect();
    values.sort_unstable();
    values.dedup();
    let keep = |every: usize, from: usize| -> Held {
        let place = |row: &Row<'_>| values.binary_search(&row.parameters[axis]).unwrap_or(0);
        rows.iter().map(|row| place(row) % every != from).collect()
    };
    match (values.len(), rows.len() <= SMALL) {
        (0..5, _) => Vec::new(),
        (5..9, true) => vec![keep(2, 0)],
        (_, false) => vec![keep(2, 0), keep(2, 1)],
        (_, true) => vec![keep(2, 0), keep(2, 1), keep(4, 0), keep(4, 2)],
    }
}

/// Folds that hold the top two, and the top four, octaves of the axis out; none where too little
/// would be left. What lies beyond one end of the measurements errs in its own way, and so two
/// ends are tried.
pub(super) fn frontiers(rows: &[Row<'_>]) -> Vec<Held> {
    [(2, 2), (4, 4)]
        .iter()
        .filter_map(|(octaves, least)| frontier(rows, *octaves, *least))
        .collect()
}

/// The fold that holds the top `octaves` out if one of `least` rows stays.
fn frontier(rows: &[Row<'_>], octaves: u32, least: usize) -> Option<Held> {
    let axis = rows.first()?.point.axis();
    let held = top_octaves(rows, axis, octaves);
    let kept = rows.iter().zip(&held).filter(|(_, held)| !**held);
    let mut values: Vec<u64> = kept.map(|(row, _)| row.parameters[axis]).collect();
    let kept = values.len();
    values.sort_unstable();
    values.dedup();
    (kept * least >= rows.len() && values.len() >= 4).then_some(held)
}

/// Whether each row lies in the top `octaves` of a parameter.
pub(crate) fn top_octaves(rows: &[Row<'_>], parameter: usize, octaves: u32) -> Held {
    let value = |row: &Row<'_>| row.parameters[parameter];
    let limit = rows.iter().map(value).max().unwrap_or(0) >> octaves;
    rows.iter().map(|row| value(row) > limit).collect()
}

fn folds(fold_of: &[u64], count: u64) -> Vec<Held> {
    (0..count)
        .map(|fold| fold_of.iter().map(|of| *of == fold).collect::<Held>())
        .filter(|held| held.iter().any(|held| *held) && held.iter().any(|held| !*held))
        .collect()
}

/// Rows left in, and rows held out.
pub(crate) fn split<'data>(rows: &[Row<'data>], held: &Held) -> (Vec<Row<'data>>, Vec<Row<'data>>) {
    let of = |wanted: bool| {
        let picked = rows.iter().zip(held).filter(|(_, held)| **held == wanted);
        picked.map(|(row, _)| row.clone()).collect()
    };
    (of(false), of(true))
}
