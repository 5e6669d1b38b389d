//! Which collectives and transfers a simulator takes, and what it must be told.

use super::ExportNotes;
use super::groups::ExportedGroups;
use crate::chakra::{Attribute, CollectiveType, NodeType, attribute};
use crate::graph::{Collective, CollectiveKind, Graph};

/// What a communicating task becomes.
pub(super) struct Communication {
    pub kind: NodeType,
    pub attributes: Vec<Attribute>,
}

/// Says a collective or transfer of a rank; the reason if it cannot be said.
pub(super) fn said(
    graph: &Graph,
    stated: Option<&Collective>,
    rank: u32,
    groups: &ExportedGroups,
    notes: &mut ExportNotes,
) -> Result<Communication, &'static str> {
    let stated = stated.ok_or("nothing was stated of it")?;
    let kind = stated.kind.ok_or("its kind is not known")?;
    match kind {
        CollectiveKind::Send | CollectiveKind::Receive => transfer(stated, rank, kind),
        _ => collective(graph, stated, kind, groups, notes),
    }
}

fn collective(
    graph: &Graph,
    stated: &Collective,
    kind: CollectiveKind,
    groups: &ExportedGroups,
    notes: &mut ExportNotes,
) -> Result<Communication, &'static str> {
    let number = match kind {
        CollectiveKind::AllReduce => CollectiveType::AllReduce,
        CollectiveKind::AllGather => CollectiveType::AllGather,
        CollectiveKind::ReduceScatter => CollectiveType::ReduceScatter,
        CollectiveKind::AllToAll | CollectiveKind::AllToAllV => CollectiveType::AllToAll,
        CollectiveKind::Broadcast => CollectiveType::Broadcast,
        CollectiveKind::Reduce => return Err("reduce is not simulated"),
        CollectiveKind::Gather => return Err("gather is not simulated"),
        CollectiveKind::Scatter => return Err("scatter is not simulated"),
        CollectiveKind::Barrier => return Err("barrier is not simulated"),
        CollectiveKind::Send | CollectiveKind::Receive => return Err("it is no collective"),
    };
    let bytes = stated.bytes_in.or(stated.bytes_out).ok_or("its bytes are not known")?;
    let group = match stated.group {
        Some(group) => groups.number(group).ok_or("the ranks of its group are not known")?,
        None => {
            notes.ungrouped += 1;
            0
        }
    };
    notes.uneven += u64::from(kind == CollectiveKind::AllToAllV);
    notes.communications += 1;
    let mut attributes = vec![
        Attribute::int64(attribute::COMMUNICATION_TYPE, i64::from(number as i32)),
        Attribute::int64(attribute::COMMUNICATION_SIZE, size(bytes)),
        Attribute::string(attribute::GROUP, group.to_string()),
    ];
    let dtype = graph.names.text(stated.dtype);
    if !dtype.is_empty() {
        attributes.push(Attribute::string("dtype", dtype));
    }
    Ok(Communication { kind: NodeType::Collective, attributes })
}

fn transfer(
    stated: &Collective,
    rank: u32,
    kind: CollectiveKind,
) -> Result<Communication, &'static str> {
    let peer = stated.peer.ok_or("the other rank of the transfer is not known")?;
    let bytes = match kind {
        CollectiveKind::Send => stated.bytes_in.or(stated.bytes_out),
        _ => stated.bytes_out.or(stated.bytes_in),
    };
    let bytes = bytes.ok_or("its bytes are not known")?;
    let (kind, from, to) = match kind {
        CollectiveKind::Send => (NodeType::Send, rank, peer),
        _ => (NodeType::Receive, peer, rank),
    };
    let number = |number: u64| i32::try_from(number).unwrap_or(i32::MAX);
    let attributes = vec![
        Attribute::int32(attribute::COMMUNICATION_SOURCE, number(u64::from(from))),
        Attribute::int32(attribute::COMMUNICATION_DESTINATION, number(u64::from(to))),
        Attribute::int64(attribute::COMMUNICATION_SIZE, size(bytes)),
        Attribute::int32(attribute::COMMUNICATION_TAG, number(stated.sequence.unwrap_or(0))),
    ];
    Ok(Communication { kind, attributes })
}

fn size(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
