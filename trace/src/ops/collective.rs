//! Collectives, as nccl-tests counts their bytes.

use kernelgauge_data::{Collective as Op, CollectivePoint, EVEN, Links, Point};

use super::Uncovered;
use super::inputs;
use crate::graph::{Collective, CollectiveKind, Graph};

/// The collective a rank takes part in.
///
/// # Errors
/// What was not recorded.
pub fn point(graph: &Graph, collective: &Collective) -> Result<Point, Uncovered> {
    let kind = collective.kind.ok_or(Uncovered::Missing("the kind of the collective is"))?;
    let op = match kind {
        CollectiveKind::AllReduce => Op::AllReduce,
        CollectiveKind::Reduce => Op::Reduce,
        CollectiveKind::AllGather => Op::AllGather,
        CollectiveKind::Gather => Op::Gather,
        CollectiveKind::Scatter => Op::Scatter,
        CollectiveKind::Broadcast => Op::Broadcast,
        CollectiveKind::AllToAll => Op::AllToAll,
        CollectiveKind::AllToAllV => Op::AllToAllV,
        CollectiveKind::ReduceScatter => Op::ReduceScatter,
        CollectiveKind::Send | CollectiveKind::Receive => Op::SendRecv,
        CollectiveKind::Barrier => return Err(Uncovered::NoFamily),
    };
    let bytes = collective.bytes_in.max(collective.bytes_out);
    let bytes = bytes.ok_or(Uncovered::Missing("the size of the collective is"))?;
    let name = graph.names.text(collective.dtype);
    let dtype = inputs::dtype(name).ok_or_else(|| Uncovered::Dtype(name.to_owned()))?;
    let group = collective.group.and_then(|group| graph.groups.get(group.0 as usize));
    let ranks = group.and_then(|group| group.size);
    let ranks = ranks.ok_or(Uncovered::Missing("the size of the group is"))?;
    Ok(Point::Collective(CollectivePoint {
        collective: op,
        dtype,
        ranks: u64::from(ranks),
        // Recordings do not say which ranks share a node; eight and fewer mostly do.
        nodes: 1,
        links: Links::Unstated,
        bytes,
        imbalance: imbalance(graph, collective),
    }))
}

/// What the rank sends most to one other, in percent of the mean, from the recorded parts.
fn imbalance(graph: &Graph, collective: &Collective) -> u64 {
    if collective.kind != Some(CollectiveKind::AllToAllV) {
        return EVEN;
    }
    let parts: Vec<u64> =
        serde_json::from_str(graph.names.text(collective.split_in)).unwrap_or_default();
    let sum = parts.iter().try_fold(0_u64, |sum, &part| sum.checked_add(part));
    let most = parts.iter().copied().max();
    match (sum, most) {
        (Some(sum), Some(most)) if sum > 0 => {
            let percent = u128::from(most) * 100 * parts.len() as u128 / u128::from(sum);
            u64::try_from(percent).unwrap_or(EVEN).max(EVEN)
        }
        _ => EVEN,
    }
}
