//! A passes term whose constants several machines share.

use kernelgauge_data::{MemoryPoint, Point};

use super::PassesTerm;
use crate::borrow::Figures;
use crate::least_squares::Bounded;
use crate::math::ln;
use crate::rows::Row;
use crate::terms::pooled::{self, Constants, moved, sampled, search};
use crate::terms::shared::Party;

/// Constants but the launch, in the order of [`PassesTerm::of`]; the memory's rate as a share
/// of what the machine sustains.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SharedPasses {
    constants: Constants,
}

/// Bounds of the shared constants. Units hold 8 to 16 blocks at a time, each with a row (CUDA
/// C++ programming guide, technical specifications): the spill lies around that.
fn bounds() -> [Bounded; 6] {
    [
        Bounded::log(0.6, 1.0, 1.3),
        Bounded::log(1.0, 12.0, 100.0),
        Bounded::log(1.0, 2.0, 8.0),
        Bounded::log(1e-3, 0.1, 30.0),
        Bounded::log(1.0, 50.0, 1e4),
        Bounded::log(1.0, 3.0, 8.0),
    ]
}

fn term(figures: &Figures, shared: &[f64], launch: f64) -> PassesTerm {
    let mut parameters = vec![launch];
    parameters.extend(shared);
    parameters[1] += ln(figures.memory_bytes_per_ns);
    PassesTerm::of(figures.units, figures.cache_bytes, &parameters)
}

fn memory_points<'rows, 'data>(
    rows: &'rows [Row<'data>],
) -> (Vec<&'rows Row<'data>>, Vec<MemoryPoint>) {
    sampled(rows)
        .into_iter()
        .filter_map(|row| match row.point {
            Point::Memory(point) => Some((row, *point)),
            _ => None,
        })
        .unzip()
}

fn log_times(term: &PassesTerm, points: &[MemoryPoint]) -> Vec<f64> {
    points.iter().map(|point| ln(term.total_ns(point))).collect()
}

/// Fits the constants of `parties`.
pub(in crate::terms) fn shared(parties: &[Party<'_, '_>]) -> SharedPasses {
    let (rows, points): (Vec<_>, Vec<_>) =
        parties.iter().map(|party| memory_points(party.rows)).unzip();
    let constants = search(&bounds(), &rows, 30, None, |party, constants, launch| {
        log_times(&term(&parties[party].figures, constants, launch), &points[party])
    });
    SharedPasses { constants }
}

impl SharedPasses {
    /// The term of a machine with these figures; with a launch of its own where it is a party.
    pub(in crate::terms) fn of(&self, figures: &Figures, party: Option<usize>) -> PassesTerm {
        term(figures, &self.constants.shared, self.constants.launch(party))
    }

    /// The term of a machine whose own rows move the constants as far as they tell.
    pub(in crate::terms) fn adapted(&self, figures: &Figures, rows: &[Row<'_>]) -> PassesTerm {
        let (rows, points) = memory_points(rows);
        let mut constants = self.constants.shared.clone();
        let launch = pooled::launch_bounds(&rows);
        constants.push(self.constants.launch(None).min(launch.high));
        let mut all = bounds().to_vec();
        all.push(launch);
        let found = moved(&constants, &all, 1, &rows, |parameters| {
            let (launch, shared) = parameters.split_last().unwrap_or((&0.0, &[]));
            log_times(&term(figures, shared, *launch), &points)
        });
        let (launch, shared) = found.split_last().unwrap_or((&0.0, &[]));
        term(figures, shared, *launch)
    }
}
