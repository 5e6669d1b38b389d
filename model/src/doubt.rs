//! How unsure a model of what is measured so far would be elsewhere: what decides which point is
//! measured next.
//!
//! A committee of small corrections is fitted, each on rows drawn with replacement (Breiman 1996),
//! all beside one analytical term; where its members disagree, measuring tells most (Seung et al.
//! 1992). Small, because only the pattern counts, and because it is fitted again and again while
//! a device waits. Left to others: what a measurement costs, and what is done with the answer.

use kernelgauge_data::{CacheState, Family, Machine, Point, Record};
use rayon::prelude::*;

use crate::correction::{Candidate, Correction, Noise};
use crate::fit::{Detail, Kin, VariantTask, groups, lessons};
use crate::math::Stream;
use crate::rows::Row;
use crate::terms::{AnalyticalTerm, Features};

/// Members of a committee: five tell a mean deviation within a third.
const MEMBERS: u64 = 5;

/// Trees of a member and their leaves, a quarter of a model's each.
const TREES: usize = 40;
const LEAVES: usize = 31;

/// Fewest rows for trees, and for a regression: those of a model.
const LEAST_FOR_TREES: usize = 200;
const LEAST_FOR_QUADRATIC: usize = 12;

/// A question whose doubt is asked for: a point and the state of its operands.
pub type Question<'a> = (&'a Point, CacheState);

/// What the models of one variant would disagree by.
#[derive(Debug)]
pub(crate) struct Committee {
    term: AnalyticalTerm,
    members: Vec<Correction>,
}

impl Committee {
    /// A committee on `rows`; none where these are too few to disagree about.
    pub(crate) fn of(task: &VariantTask<'_>, rows: &[Row<'_>]) -> Option<Committee> {
        let candidate = match rows.len() {
            0..LEAST_FOR_QUADRATIC => return None,
            LEAST_FOR_QUADRATIC..LEAST_FOR_TREES => Candidate::Quadratic { l1_ratio: 0.0 },
            _ => Candidate::Trees { trees: TREES, leaves: LEAVES, noise: Noise::Even },
        };
        let term = task.term(rows);
        let all = lessons(rows, &term);
        let members = (0..MEMBERS)
            .into_par_iter()
            .map(|member| {
                let mut stream = Stream::new(task.seed ^ Stream::new(member).next());
                let count = all.len() as u64;
                let drawn: Vec<usize> =
                    (0..count).map(|_| (stream.next() % count) as usize).collect();
                candidate.fit(&all.picked(&drawn))
            })
            .collect();
        Some(Committee { term, members })
    }

    /// Standard deviation of the members' log times at a point.
    pub(crate) fn doubt(&self, point: &Point) -> f64 {
        let mut features = Features::new();
        self.term.log_ns(point, &mut features);
        let parameters = point.parameters();
        let answers: Vec<f64> =
            self.members.iter().map(|member| member.log_ratio(&features, &parameters)).collect();
        let count = answers.len().max(1) as f64;
        let mean = answers.iter().sum::<f64>() / count;
        let spread = answers.iter().map(|answer| (answer - mean) * (answer - mean)).sum::<f64>();
        (spread / count).sqrt()
    }
}

/// What models of `records`, measured on `machine`, would disagree by at each of `questions`:
/// the standard deviation of log time, 0.03 is about 3 %. None where a variant has too few
/// points for an opinion. The same records, in whatever order, and the same seed give the same
/// answers.
pub fn doubts(
    machine: &Machine,
    records: &[Record],
    questions: &[Question<'_>],
    seed: u64,
) -> Vec<Option<f64>> {
    let groups = groups(records);
    let committees: Vec<((Family, &str, CacheState), Committee)> = groups
        .par_iter()
        .filter(|group| group.insufficient().is_none())
        .filter_map(|group| {
            let kin = Kin::of(group, &groups, machine);
            let task = VariantTask::of(group, machine, &kin, seed, Detail::STANDARD);
            let committee = Committee::of(&task, &group.rows)?;
            Some(((group.family, group.name.as_str(), group.cache), committee))
        })
        .collect();
    questions
        .par_iter()
        .map(|(point, cache)| {
            let variant = point.variant();
            let key = (point.family(), variant.as_str(), *cache);
            let place = committees.binary_search_by(|(known, _)| known.cmp(&key)).ok()?;
            Some(committees.get(place)?.1.doubt(point))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::gemm_table;

    #[test]
    fn doubt_is_where_nothing_was_measured_and_the_same_each_time() {
        let mut data = gemm_table();
        let all: Vec<Record> = data.records.clone();
        // The upper half of the axis is not measured yet.
        let axis = all[0].point.axis();
        let mut values: Vec<u64> = all.iter().map(|r| r.point.parameters()[axis]).collect();
        values.sort_unstable();
        let middle = values[values.len() / 2];
        data.records.retain(|record| record.point.parameters()[axis] < middle);
        let questions: Vec<Question<'_>> =
            all.iter().map(|record| (&record.point, record.conditions.cache)).collect();
        let machine = &data.manifest.machine;
        let answers = doubts(machine, &data.records, &questions, 1);
        let mean = |known: bool| {
            let of: Vec<f64> = all
                .iter()
                .zip(&answers)
                .filter(|(record, _)| (record.point.parameters()[axis] < middle) == known)
                .filter_map(|(_, doubt)| *doubt)
                .collect();
            assert!(!of.is_empty());
            of.iter().sum::<f64>() / of.len() as f64
        };
        assert!(mean(false) > mean(true), "{} {}", mean(false), mean(true));
        data.records.reverse();
        assert_eq!(answers, doubts(machine, &data.records, &questions, 1));
        assert_ne!(answers, doubts(machine, &data.records, &questions, 2));
        // Three points are no opinion.
        data.records.truncate(3);
        assert!(doubts(machine, &data.records, &questions, 1).iter().all(Option::is_none));
    }
}
