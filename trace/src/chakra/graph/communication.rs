//! What a node of a Chakra trace says of communication.

use std::collections::HashMap;

use crate::chakra::attribute;
use crate::chakra::message::{ChakraNode, CollectiveType, NodeType};
use crate::graph::{Collective, CollectiveId, CollectiveKind, Graph, Group, GroupId, StatedBy};
use crate::names::Symbol;

/// The places of collectives among those of their group, for one rank.
#[derive(Default)]
pub(super) struct Sequences {
    next: HashMap<GroupId, u64>,
}

/// Adds what a node communicates; none for nodes that do not. Nodes come in the order in which
/// they run.
pub(super) fn add(
    graph: &mut Graph,
    node: &ChakraNode,
    sequences: &mut Sequences,
    world_size: Option<u32>,
) -> Option<CollectiveId> {
    let kind = match NodeType::try_from(node.kind).ok()? {
        NodeType::Collective => kind(node),
        NodeType::Send => Some(CollectiveKind::Send),
        NodeType::Receive => Some(CollectiveKind::Receive),
        _ => return None,
    };
    let peer = match kind {
        Some(CollectiveKind::Send) => rank(node, attribute::COMMUNICATION_DESTINATION),
        Some(CollectiveKind::Receive) => rank(node, attribute::COMMUNICATION_SOURCE),
        _ => None,
    };
    let between_two = matches!(kind, Some(CollectiveKind::Send | CollectiveKind::Receive));
    let group = (!between_two).then(|| group(graph, node, world_size));
    let sequence = group.map(|group| {
        let next = sequences.next.entry(group).or_insert(0);
        *next += 1;
        *next - 1
    });
    let size = node.count(attribute::COMMUNICATION_SIZE);
    graph.links.collectives += 1;
    graph.links.described_collectives += u64::from(kind.is_some() && size.is_some());
    let id = CollectiveId(u32::try_from(graph.collectives.len()).ok()?);
    graph.collectives.push(Collective {
        kind,
        dtype: Symbol::EMPTY,
        bytes_in: size,
        bytes_out: None,
        group,
        sequence,
        split_in: Symbol::EMPTY,
        split_out: Symbol::EMPTY,
        peer,
        stated_by: StatedBy::Kernel,
    });
    Some(id)
}

fn rank(node: &ChakraNode, name: &str) -> Option<u32> {
    node.count(name).and_then(|rank| u32::try_from(rank).ok())
}

fn kind(node: &ChakraNode) -> Option<CollectiveKind> {
    let stated = i32::try_from(node.integer(attribute::COMMUNICATION_TYPE)?).ok()?;
    Some(match CollectiveType::try_from(stated).ok()? {
        CollectiveType::AllReduce => CollectiveKind::AllReduce,
        CollectiveType::Reduce => CollectiveKind::Reduce,
        CollectiveType::AllGather => CollectiveKind::AllGather,
        CollectiveType::Gather => CollectiveKind::Gather,
        CollectiveType::Scatter => CollectiveKind::Scatter,
        CollectiveType::Broadcast => CollectiveKind::Broadcast,
        CollectiveType::AllToAll => CollectiveKind::AllToAll,
        CollectiveType::ReduceScatter | CollectiveType::ReduceScatterBlock => {
            CollectiveKind::ReduceScatter
        }
        CollectiveType::Barrier => CollectiveKind::Barrier,
    })
}

/// The group by its name; nothing and `0` are all ranks, of which there are as many as the trace
/// states, if it does. Other groups' ranks are in a file beside the trace.
fn group(graph: &mut Graph, node: &ChakraNode, world_size: Option<u32>) -> GroupId {
    let written = node.text(attribute::GROUP).unwrap_or_default();
    let everybody = written.is_empty() || written == "0";
    let name = graph.names.symbol(if everybody { "0" } else { &written });
    let known = graph.groups.iter().position(|group| group.name == name);
    let place = known.unwrap_or(graph.groups.len());
    if known.is_none() {
        let description = Symbol::EMPTY;
        graph.groups.push(Group {
            name,
            description,
            size: world_size.filter(|_| everybody),
            ranks: Vec::new(),
        });
    }
    GroupId(u32::try_from(place).unwrap_or(u32::MAX))
}
