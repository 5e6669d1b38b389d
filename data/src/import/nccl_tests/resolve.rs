//! Which collective a row is of, and over how many ranks.
//!
//! The log's own words come first: the program's name, the rank list. What they leave open is
//! taken from the row itself, if only one answer fits: its reduction and root, whether its
//! in-place half was checked (nccl-tests checks all but all-to-all and send/receive), and its
//! bus factor. What then is still open must be stated by the caller.

use super::bandwidth::{self, Range};
use super::row::{Check, Redop, Row};
use super::scan::Run;
use super::{NcclTestsError, Refusal};
use crate::point::Collective;

/// What the rows of one sweep share.
#[derive(Debug, Clone, Copy)]
pub(super) struct Signature {
    redop: Redop,
    has_root: bool,
    in_place_checked: bool,
    only_out_of_place_checked: bool,
    factor: Option<Range>,
    /// The layout of NCCL 2.4, before all-to-all and send/receive were tests.
    oldest: bool,
}

impl Signature {
    /// The signature of `rows`, which share reduction and root.
    pub fn of(rows: &[&Row], factor: Option<Range>, oldest: bool) -> Signature {
        let checked = |cells: &Option<super::row::Cells>| {
            cells.as_ref().map(|cells| cells.check != Check::NotChecked)
        };
        let in_place = rows.iter().any(|row| checked(&row.in_place) == Some(true));
        let one_sided = |row: &&Row| {
            checked(&row.out_of_place) == Some(true) && checked(&row.in_place) == Some(false)
        };
        Signature {
            redop: rows.first().map_or(Redop::Unstated, |row| row.redop),
            has_root: rows.first().is_some_and(|row| row.root.is_some()),
            in_place_checked: in_place,
            only_out_of_place_checked: rows.iter().any(one_sided) && !in_place,
            factor,
            oldest,
        }
    }

    /// Whether rows of `collective` look like this.
    fn fits(&self, collective: Collective) -> bool {
        use Collective::{
            AllGather, AllReduce, AllToAll, AllToAllV, Broadcast, Gather, Reduce, ReduceScatter,
            Scatter, SendRecv,
        };
        let unchecked_in_place = matches!(collective, AllToAll | AllToAllV | SendRecv);
        if self.in_place_checked && unchecked_in_place {
            return false;
        }
        if self.only_out_of_place_checked && !unchecked_in_place {
            return false;
        }
        match collective {
            AllReduce | ReduceScatter => self.redop != Redop::Moves && !self.has_root,
            Reduce => self.redop != Redop::Moves && self.has_root,
            AllGather | AllToAll => self.redop != Redop::Reduces && !self.has_root,
            Broadcast | Gather | Scatter => self.redop != Redop::Reduces && self.has_root,
            SendRecv => !self.has_root && !self.oldest,
            // It prints what all-to-all prints; only its name tells.
            AllToAllV => false,
        }
    }
}

/// The collective of rows with this signature, given the name the log or the caller states.
///
/// A stated name holds unless its rows cannot look like that, as in a trace replay, which
/// mixes collectives in one table; then the signature decides.
pub(super) fn collective(
    stated: Option<Collective>,
    ranks: Option<u64>,
    signature: &Signature,
) -> Result<Collective, NcclTestsError> {
    let shaped_like = |name: Collective| {
        let equivalent = if name == Collective::AllToAllV { Collective::AllToAll } else { name };
        let shape =
            Signature { in_place_checked: false, only_out_of_place_checked: false, ..*signature };
        // Old tables leave redop and root out even where the collective has them.
        let silent = signature.redop == Redop::Unstated && !signature.has_root;
        silent || shape.fits(equivalent)
    };
    if let Some(name) = stated.filter(|name| shaped_like(*name)) {
        return Ok(name);
    }
    let possible = |collective: &Collective| {
        signature.fits(*collective)
            && match (signature.factor, ranks) {
                (None, _) => true,
                (Some(factor), Some(ranks)) => bandwidth::factor_fits(*collective, ranks, factor),
                (Some(factor), None) => {
                    bandwidth::factor_fits(*collective, 2, factor)
                        || !bandwidth::ranks_with_factor(*collective, factor).is_empty()
                }
            }
    };
    let candidates: Vec<Collective> = Collective::ALL.into_iter().filter(possible).collect();
    match candidates.as_slice() {
        [only] => Ok(*only),
        // Not with these ranks: named without them, and refused for the ranks afterwards.
        [] if ranks.is_some() => collective(None, None, signature),
        _ => Err(NcclTestsError::UnknownCollective { candidates }),
    }
}

/// Refuses ranks that the bandwidths contradict.
pub(super) fn check_ranks(
    collective: Collective,
    ranks: u64,
    factor: Option<Range>,
) -> Result<(), NcclTestsError> {
    let Some(factor) = factor else { return Ok(()) };
    if bandwidth::factor_fits(collective, ranks, factor) {
        return Ok(());
    }
    let implied = bandwidth::ranks_with_factor(collective, factor);
    Err(NcclTestsError::RanksDisagree { stated: ranks, implied })
}

/// The ranks of a run that lists none: those of the bus factor, else the devices of its one
/// process.
pub(super) fn implied_ranks(
    run: &Run,
    collective: Collective,
    factor: Option<Range>,
) -> Result<u64, NcclTestsError> {
    let implied = factor.map(|factor| bandwidth::ranks_with_factor(collective, factor));
    let implied = implied.unwrap_or_default();
    let devices = run.preamble.map_or(1, |preamble| preamble.devices);
    match implied.as_slice() {
        [only] => Ok(*only),
        several if devices > 1 && (several.is_empty() || several.contains(&devices)) => Ok(devices),
        _ => Err(NcclTestsError::UnknownRanks { implied }),
    }
}

/// Refuses a run of one rank, which moves nothing between devices.
pub(super) fn refuse_single_rank(
    run: &Run,
    mut factors: impl Iterator<Item = Range>,
) -> Result<(), Refusal> {
    let devices = run.preamble.map_or(1, |preamble| preamble.devices);
    // A factor other than 1 exists only among several ranks, whatever the rank list shows.
    let proven = factors.any(|factor| factor.low > 1.001 || factor.high < 0.999);
    let listed_alone = run.ranks == Some(1) && devices <= 1 && !proven;
    if bandwidth::bus_is_zero(&run.rows) || listed_alone {
        return Err(Refusal { line: Some(run.line), error: NcclTestsError::SingleRank });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signature(redop: Redop, has_root: bool, factor: f64) -> Signature {
        let factor = Some(Range { low: factor - 1e-3, high: factor + 1e-3 });
        Signature {
            redop,
            has_root,
            in_place_checked: true,
            only_out_of_place_checked: false,
            factor,
            oldest: false,
        }
    }

    #[test]
    fn unnamed_rows_are_named_by_what_only_they_can_be() {
        for (redop, root, factor, ranks, expected) in [
            (Redop::Reduces, false, 1.75, None, Collective::AllReduce),
            (Redop::Reduces, false, 1.0, Some(2), Collective::AllReduce),
            (Redop::Reduces, false, 0.875, Some(8), Collective::ReduceScatter),
            (Redop::Reduces, true, 1.0, Some(8), Collective::Reduce),
            (Redop::Moves, false, 0.875, Some(8), Collective::AllGather),
            (Redop::Moves, true, 1.0, Some(8), Collective::Broadcast),
        ] {
            let found = collective(None, ranks, &signature(redop, root, factor));
            assert_eq!(found.unwrap(), expected);
        }
        let one_sided = Signature {
            in_place_checked: false,
            only_out_of_place_checked: true,
            ..signature(Redop::Moves, false, 0.857)
        };
        assert_eq!(collective(None, Some(7), &one_sided).unwrap(), Collective::AllToAll);
    }

    #[test]
    fn what_stays_open_is_asked_for() {
        let unchecked =
            Signature { in_place_checked: false, ..signature(Redop::Moves, false, 0.875) };
        let Err(NcclTestsError::UnknownCollective { candidates }) =
            collective(None, Some(8), &unchecked)
        else {
            panic!("named although two fit");
        };
        assert_eq!(candidates, [Collective::AllGather, Collective::AllToAll]);
        assert_eq!(
            collective(Some(Collective::AllToAllV), Some(8), &unchecked).unwrap(),
            Collective::AllToAllV
        );
    }

    #[test]
    fn a_row_of_another_shape_goes_by_its_own() {
        let broadcast = signature(Redop::Moves, true, 1.0);
        let found = collective(Some(Collective::AllReduce), Some(8), &broadcast);
        assert_eq!(found.unwrap(), Collective::Broadcast);
    }
}
