//! Collectives and transfers as nodes, where a consumer can replay them.

use std::collections::BTreeMap;

use super::groups::{ALL, GroupNumbers};
use crate::chakra::attribute;
use crate::chakra::message::{CollectiveType, NodeType};
use crate::chakra::value::Attribute;
use crate::graph::{Collective, CollectiveKind, GroupId};

/// Why communication became computation, which takes as long as it was recorded to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// It is not known what it does.
    UnknownKind,
    /// Consumers do not replay this kind.
    NotReplayed(CollectiveKind),
    /// It is not known how many bytes it moves.
    UnknownSize,
    /// It is not known which ranks take part.
    UnknownGroup,
    /// It is not known who the other rank is.
    UnknownPeer,
}

impl std::fmt::Display for Reason {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Reason::UnknownKind => out.write_str("what they do is not known"),
            Reason::NotReplayed(kind) => write!(out, "{kind:?} is not replayed by simulators"),
            Reason::UnknownSize => out.write_str("their size is not known"),
            Reason::UnknownGroup => out.write_str("the ranks of their group are not known"),
            Reason::UnknownPeer => out.write_str("the other rank is not known"),
        }
    }
}

/// What a node says besides what all nodes say.
pub(super) struct Said {
    pub(super) kind: NodeType,
    pub(super) attributes: Vec<Attribute>,
    /// The group is not stated; all ranks are assumed.
    pub(super) assumed_all: bool,
    /// Parts differ in size, which an all-to-all of a consumer does not know.
    pub(super) uneven: bool,
}

/// Numbers for transfers between two ranks, so that sender and receiver mean the same one.
#[derive(Default)]
pub(super) struct Tags {
    next: BTreeMap<(u32, u32), i32>,
}

impl Tags {
    fn next(&mut self, source: u32, destination: u32) -> i32 {
        let tag = self.next.entry((source, destination)).or_insert(0);
        let this = *tag;
        *tag = tag.saturating_add(1);
        this
    }
}

pub(super) fn say(
    collective: &Collective,
    rank: u32,
    groups: &GroupNumbers,
    tags: &mut Tags,
) -> Result<Said, Reason> {
    let kind = collective.kind.ok_or(Reason::UnknownKind)?;
    let between_two = matches!(kind, CollectiveKind::Send | CollectiveKind::Receive);
    let size = collective.bytes_in.or(collective.bytes_out.filter(|_| between_two));
    let replayed = match kind {
        CollectiveKind::Send | CollectiveKind::Receive => {
            return transfer(kind, collective.peer, size, rank, tags);
        }
        CollectiveKind::AllReduce => CollectiveType::AllReduce,
        CollectiveKind::AllGather => CollectiveType::AllGather,
        CollectiveKind::ReduceScatter => CollectiveType::ReduceScatter,
        CollectiveKind::AllToAll | CollectiveKind::AllToAllV => CollectiveType::AllToAll,
        CollectiveKind::Broadcast => CollectiveType::Broadcast,
        CollectiveKind::Reduce
        | CollectiveKind::Gather
        | CollectiveKind::Scatter
        | CollectiveKind::Barrier => return Err(Reason::NotReplayed(kind)),
    };
    let size = signed(size)?;
    let number = |group: GroupId| groups.number(group).ok_or(Reason::UnknownGroup);
    let group = collective.group.map(number).transpose()?;
    Ok(Said {
        kind: NodeType::Collective,
        attributes: vec![
            Attribute::int64(attribute::COMMUNICATION_TYPE, replayed as i64),
            Attribute::int64(attribute::COMMUNICATION_SIZE, size),
            Attribute::string(attribute::GROUP, group.unwrap_or(ALL).to_string()),
        ],
        assumed_all: group.is_none(),
        uneven: kind == CollectiveKind::AllToAllV,
    })
}

fn transfer(
    kind: CollectiveKind,
    peer: Option<u32>,
    size: Option<u64>,
    rank: u32,
    tags: &mut Tags,
) -> Result<Said, Reason> {
    let peer = peer.ok_or(Reason::UnknownPeer)?;
    let size = signed(size)?;
    let (node, source, destination) = match kind {
        CollectiveKind::Send => (NodeType::Send, rank, peer),
        _ => (NodeType::Receive, peer, rank),
    };
    let tag = tags.next(source, destination);
    let number = |rank: u32| i32::try_from(rank).map_err(|_| Reason::UnknownPeer);
    Ok(Said {
        kind: node,
        attributes: vec![
            Attribute::int32(attribute::COMMUNICATION_SOURCE, number(source)?),
            Attribute::int32(attribute::COMMUNICATION_DESTINATION, number(destination)?),
            Attribute::int64(attribute::COMMUNICATION_SIZE, size),
            Attribute::int32(attribute::COMMUNICATION_TAG, tag),
        ],
        assumed_all: false,
        uneven: false,
    })
}

fn signed(size: Option<u64>) -> Result<i64, Reason> {
    size.and_then(|size| i64::try_from(size).ok()).ok_or(Reason::UnknownSize)
}
