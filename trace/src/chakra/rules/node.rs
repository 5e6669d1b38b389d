//! Rules for single nodes.

use super::{Rule, Violation};
use crate::chakra::attribute;
use crate::chakra::message::{ChakraNode, CollectiveType, NodeType};

/// Collectives that ASTRA-sim replays (`Workload.cc`); it throws on others.
const REPLAYED: [CollectiveType; 5] = [
    CollectiveType::AllReduce,
    CollectiveType::AllGather,
    CollectiveType::ReduceScatter,
    CollectiveType::AllToAll,
    CollectiveType::Broadcast,
];

pub(super) fn check(node: &ChakraNode, violations: &mut Vec<Violation>) {
    let mut violated =
        |rule, detail: String| violations.push(Violation { rule, node: Some(node.id), detail });
    let kind = NodeType::try_from(node.kind).ok();
    if kind == Some(NodeType::Metadata) {
        return;
    }
    let on_host = node.is_cpu_op();
    if on_host.is_none() {
        violated(Rule::Side, "is_cpu_op is not stated".to_owned());
    }
    let communicates =
        matches!(kind, Some(NodeType::Collective | NodeType::Send | NodeType::Receive));
    if communicates && on_host == Some(true) {
        violated(Rule::CommunicationOnDevice, "it communicates, and is_cpu_op is true".to_owned());
    }
    match kind {
        Some(NodeType::Collective) => collective(node, &mut violated),
        Some(NodeType::Send | NodeType::Receive) => transfer(node, &mut violated),
        _ => {}
    }
    if node.duration_micros == 0 && node.count(attribute::EXACT_DURATION) != Some(0) {
        violated(Rule::Duration, "duration_micros is 0".to_owned());
    }
}

fn collective(node: &ChakraNode, violated: &mut impl FnMut(Rule, String)) {
    for needed in [attribute::COMMUNICATION_TYPE, attribute::COMMUNICATION_SIZE] {
        if node.count(needed).is_none() {
            violated(Rule::Collective, format!("{needed} is not stated"));
        }
    }
    match node.text(attribute::GROUP) {
        None => violated(Rule::Collective, "pg_name is not stated".to_owned()),
        Some(group) if !group.is_empty() && group.parse::<u64>().is_err() => {
            violated(Rule::Collective, format!("pg_name is `{group}`, no integer"));
        }
        Some(_) => {}
    }
    let Some(kind) = node.integer(attribute::COMMUNICATION_TYPE) else { return };
    let known = i32::try_from(kind).ok().and_then(|kind| CollectiveType::try_from(kind).ok());
    if known.is_none_or(|known| !REPLAYED.contains(&known)) {
        violated(Rule::ReplayedCollective, format!("comm_type is {kind}"));
    }
}

fn transfer(node: &ChakraNode, violated: &mut impl FnMut(Rule, String)) {
    for needed in [
        attribute::COMMUNICATION_SOURCE,
        attribute::COMMUNICATION_DESTINATION,
        attribute::COMMUNICATION_SIZE,
        attribute::COMMUNICATION_TAG,
    ] {
        if node.count(needed).is_none() {
            violated(Rule::Transfer, format!("{needed} is not stated"));
        }
    }
}
