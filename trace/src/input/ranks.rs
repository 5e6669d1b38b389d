//! Which rank everything is of, once all is read.

use super::Loaded;
use crate::error::TraceError;
use crate::recording::{RankSource, StatedRank};

/// A trace whose rank is to be settled.
struct Claim<'trace> {
    source: &'trace str,
    rank: &'trace mut Option<StatedRank>,
}

/// Gives a rank to what states none, by its place, and puts everything in the order of ranks.
///
/// # Errors
/// Two traces of the same kind are of the same rank.
pub(super) fn settle(loaded: &mut Loaded) -> Result<(), TraceError> {
    let notes = &mut loaded.notes;
    let recordings = loaded.recordings.iter_mut();
    let claims =
        recordings.map(|found| Claim { source: &found.source, rank: &mut found.rank }).collect();
    settle_kind("recordings", claims, notes)?;
    let executions = loaded.executions.iter_mut();
    let claims =
        executions.map(|found| Claim { source: &found.source, rank: &mut found.rank }).collect();
    settle_kind("execution traces", claims, notes)?;
    let chakras = loaded.chakras.iter_mut();
    let claims =
        chakras.map(|found| Claim { source: &found.trace.source, rank: &mut found.rank }).collect();
    settle_kind("Chakra traces", claims, notes)?;
    let number = |rank: Option<StatedRank>| rank.map(|stated| stated.rank);
    loaded.recordings.sort_by_key(|found| number(found.rank));
    loaded.executions.sort_by_key(|found| number(found.rank));
    loaded.chakras.sort_by_key(|found| number(found.rank));
    Ok(())
}

/// Settles the ranks of one kind of traces. One alone that states no rank keeps none, so that it
/// goes with whatever else there is one of.
fn settle_kind(
    kind: &str,
    mut claims: Vec<Claim<'_>>,
    notes: &mut Vec<String>,
) -> Result<(), TraceError> {
    let mut taken: Vec<(u32, &str)> = Vec::new();
    for claim in &claims {
        let Some(stated) = claim.rank.as_ref() else { continue };
        taken.push((stated.rank, claim.source));
    }
    taken.sort_by_key(|(rank, _)| *rank);
    for pair in taken.windows(2) {
        if let [(rank, first), (other, second)] = pair
            && rank == other
        {
            return Err(TraceError::unusable(
                second,
                format!("is of rank {rank}, as is {first}: two {kind} of one rank"),
                "name one file of each rank; steps of one rank in several files are read one \
                 at a time",
            ));
        }
    }
    let taken: Vec<u32> = taken.into_iter().map(|(rank, _)| rank).collect();
    let alone = claims.len() == 1;
    let mut free = (0..).filter(|rank| taken.binary_search(rank).is_err());
    for claim in claims.iter_mut().filter(|claim| claim.rank.is_none() && !alone) {
        *claim.rank = free.next().map(|rank| StatedRank { rank, by: RankSource::Order });
        let rank = claim.rank.map_or(0, |stated| stated.rank);
        notes.push(format!("{} states no rank: taken for rank {rank} by its place", claim.source));
    }
    Ok(())
}
