//! Records by variant, and whether a variant has enough of them.

use std::collections::BTreeSet;

use kernelgauge_data::{CacheState, Family, InputContent, Manner, Point, Record};

use crate::math::{log2, median};
use crate::model::Insufficient;
use crate::rows::{Row, fold};

/// Fewest points of a variant.
const LEAST_POINTS: usize = 4;

/// Of a collective at one rank count: a latency and a bandwidth make a curve.
const LEAST_OF_A_CURVE: usize = 2;

/// The records of one variant.
#[derive(Debug, Clone)]
pub(crate) struct Group<'data> {
    pub family: Family,
    pub name: String,
    pub cache: CacheState,
    pub rows: Vec<Row<'data>>,
}

/// Records by (family, variant, cache state), in that order.
///
/// What the operands held is part of a measurement's identity and is not mixed: of several
/// contents the random one is taken, else the unstated, else the commonest.
pub(crate) fn groups(records: &[Record]) -> Vec<Group<'_>> {
    let mut keyed: Vec<(Family, String, CacheState, &Record)> = records
        .iter()
        .filter(|record| record.fit_time().is_some() && record.point.check().is_ok())
        .map(|record| {
            let name = record.point.variant().as_str().to_owned();
            (record.point.family(), name, record.conditions.cache, record)
        })
        .collect();
    keyed.sort_by(|a, b| (a.0, &a.1, a.2).cmp(&(b.0, &b.1, b.2)));
    keyed
        .chunk_by(|a, b| (a.0, &a.1, a.2) == (b.0, &b.1, b.2))
        .map(|run| {
            let records: Vec<&Record> = run.iter().map(|(_, _, _, record)| *record).collect();
            let (family, name, cache, _) = &run[0];
            let rows = of_one_shape(fold(&of_one_content(&in_the_usual_manner(&records))));
            Group { family: *family, name: name.clone(), cache: *cache, rows }
        })
        .collect()
}

/// What was measured in another manner than the usual one takes another time and is left out,
/// unless a variant has nothing else. A collective measured in place alone stays: it is the
/// commoner use to have two buffers, and one only where that is all the source has.
fn in_the_usual_manner<'data>(records: &[&'data Record]) -> Vec<&'data Record> {
    let manner = |record: &Record| Manner::of(&record.conditions);
    let usual: BTreeSet<&Point> = records
        .iter()
        .filter(|record| manner(record) == Manner::Usual)
        .map(|record| &record.point)
        .collect();
    if usual.len() == records.len() {
        return records.to_vec();
    }
    let stays = |record: &&&Record| match manner(record) {
        Manner::Usual => true,
        Manner::InPlace => !usual.contains(&record.point),
        Manner::Isolated | Manner::Pair { .. } => usual.is_empty(),
    };
    records.iter().filter(stays).copied().collect()
}

fn of_one_content<'data>(records: &[&'data Record]) -> Vec<&'data Record> {
    let count = |content: &InputContent| {
        records.iter().filter(|record| record.conditions.input == *content).count()
    };
    let mut contents: Vec<&InputContent> =
        records.iter().map(|record| &record.conditions.input).collect();
    contents.sort();
    contents.dedup();
    let rank = |content: &InputContent| match content {
        InputContent::Random => 0,
        InputContent::Unstated => 1,
        InputContent::Named(_) => 2,
    };
    let chosen = contents
        .into_iter()
        .min_by_key(|content| (rank(content), std::cmp::Reverse(count(content))));
    records.iter().copied().filter(|record| Some(&record.conditions.input) == chosen).collect()
}

/// Custom ops of one name may come with different parameters: the commonest set is kept.
fn of_one_shape(rows: Vec<Row<'_>>) -> Vec<Row<'_>> {
    let Some(first) = rows.first() else { return rows };
    if first.point.family() != Family::Custom {
        return rows;
    }
    let names = |row: &Row<'_>| row.point.parameter_names().join(" ");
    let mut sets: Vec<String> = rows.iter().map(names).collect();
    sets.sort();
    let commonest = sets.chunk_by(|a, b| a == b).max_by_key(|run| run.len());
    let commonest = commonest.map(|run| run[0].clone()).unwrap_or_default();
    rows.into_iter().filter(|row| names(row) == commonest).collect()
}

impl Group<'_> {
    /// This variant as one that has no model.
    pub(crate) fn lacking(&self, reason: String) -> Insufficient {
        let (family, variant, cache) = (self.family, self.name.clone(), self.cache);
        Insufficient { family, variant, cache, reason }
    }

    /// Why these points cannot make a model, if they cannot.
    pub(crate) fn insufficient(&self) -> Option<String> {
        let points = self.rows.len();
        let ranks = |row: &Row<'_>| [row.parameters[0], row.parameters[1]];
        let is_a_curve = self.family == Family::Collective
            && self.rows.windows(2).all(|pair| ranks(&pair[0]) == ranks(&pair[1]));
        let least = if is_a_curve { LEAST_OF_A_CURVE } else { LEAST_POINTS };
        if points < least {
            let plural = if points == 1 { "" } else { "s" };
            return Some(format!("{points} point{plural}; at least {least} are needed"));
        }
        // Of launching itself a constant is a fair answer: no size makes it any other work.
        let is_launching =
            |row: &Row<'_>| matches!(row.point, Point::Custom(custom) if custom.is_launching());
        if self.rows.iter().all(is_launching) {
            return None;
        }
        no_load_signal(&self.rows)
    }
}

/// How the reason begins where times do not grow with the work: the remedy hangs on it, and
/// model files keep the reason only.
pub(crate) const NO_LOAD_SIGNAL: &str = "no load signal";

/// Points whose time does not grow with their work, over two octaves of it or more.
///
/// A line through such points has whatever slope the noise gives it, so there is no model to be
/// had: the slowest quarter must take 3 % longer than the fastest.
fn no_load_signal(rows: &[Row<'_>]) -> Option<String> {
    const GROWTH: f64 = 1.03;
    const OCTAVES: f64 = 2.0;
    let mut by_work: Vec<(f64, f64)> =
        rows.iter().map(|row| (work_of(row), row.time.as_f64())).collect();
    by_work.sort_by(|a, b| a.0.total_cmp(&b.0));
    let octaves = log2(by_work[by_work.len() - 1].0 / by_work[0].0);
    if octaves < OCTAVES {
        return None;
    }
    let quarter = by_work.len().div_ceil(4);
    let time_of = |part: &[(f64, f64)]| median(part.iter().map(|(_, time)| *time).collect());
    let (least, most) =
        (time_of(&by_work[..quarter]), time_of(&by_work[by_work.len() - quarter..]));
    (most < least * GROWTH).then(|| {
        let change = (most / least - 1.0) * 100.0;
        format!("{NO_LOAD_SIGNAL}: time changes by {change:.1} % while the work grows {octaves:.0} octaves")
    })
}

/// Arithmetic and traffic, or the product of the parameters where these are not known.
fn work_of(row: &Row<'_>) -> f64 {
    let work = row.point.work();
    let known = work.flops + work.bytes();
    if known > 0.0 {
        return known;
    }
    row.parameters.iter().map(|value| (*value).max(1) as f64).product()
}

#[cfg(test)]
mod tests {
    use kernelgauge_data::import::nccl_tests::IN_PLACE;
    use kernelgauge_data::{
        Collective, CollectivePoint, Conditions, Dtype, Flags, Links, Measurement, Nanos, Outcome,
    };

    use super::*;

    fn record(bytes: u64, kernel: &str, time: u64) -> Record {
        Record {
            point: Point::Collective(CollectivePoint {
                collective: Collective::AllReduce,
                dtype: Dtype::F32,
                ranks: 8,
                nodes: 1,
                links: Links::Unstated,
                bytes,
                imbalance: 100,
            }),
            conditions: Conditions { kernel: kernel.to_owned(), ..Conditions::default() },
            outcome: Outcome::Measured(Measurement::stated(Nanos::new(time))),
            flags: Flags::NONE,
        }
    }

    #[test]
    fn two_buffers_speak_before_one() {
        let records =
            [record(64, "", 10_000), record(64, IN_PLACE, 15_000), record(128, IN_PLACE, 16_000)];
        let groups = groups(&records);
        let times: Vec<u64> = groups[0].rows.iter().map(|row| row.time.get()).collect();
        assert_eq!(times, [10_000, 16_000]);
    }
}
