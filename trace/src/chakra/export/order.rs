//! Nodes so that each comes after what it waits for, earlier ones first.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use crate::chakra::{ChakraNode, attribute};
use crate::error::TraceError;

/// How many nodes of a circle an error names.
const NAMED_NODES: usize = 5;

/// Consumers read in windows: a node whose dependencies come later may never become ready.
pub(super) fn sorted(
    nodes: Vec<ChakraNode>,
    source_name: &str,
) -> Result<Vec<ChakraNode>, TraceError> {
    let places: HashMap<u64, usize> = nodes.iter().map(|node| node.id).zip(0..).collect();
    let mut waiting: Vec<usize> = Vec::with_capacity(nodes.len());
    let mut followers: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for (place, node) in nodes.iter().enumerate() {
        let before = node.data_dependencies.iter().filter_map(|id| places.get(id));
        let mut count = 0;
        for &before in before {
            if let Some(followers) = followers.get_mut(before) {
                followers.push(place);
                count += 1;
            }
        }
        waiting.push(count);
    }
    let key = |place: usize| {
        let node = nodes.get(place);
        let start = node.and_then(|node| node.integer(attribute::EXACT_START)).unwrap_or(0);
        Reverse((start, node.map_or(0, |node| node.id), place))
    };
    let free = waiting.iter().enumerate().filter(|(_, count)| **count == 0);
    let mut ready: BinaryHeap<_> = free.map(|(place, _)| key(place)).collect();
    let mut order = Vec::with_capacity(nodes.len());
    while let Some(Reverse((_, _, place))) = ready.pop() {
        order.push(place);
        for &follower in followers.get(place).into_iter().flatten() {
            if let Some(count) = waiting.get_mut(follower) {
                *count -= 1;
                if *count == 0 {
                    ready.push(key(follower));
                }
            }
        }
    }
    if order.len() < nodes.len() {
        let stuck = nodes.iter().zip(&waiting).filter(|(_, count)| **count > 0);
        let named: Vec<String> = stuck
            .take(NAMED_NODES)
            .map(|(node, _)| format!("{} ({})", node.id, node.name))
            .collect();
        let problem = format!(
            "{} pieces of work wait for each other, such as {}",
            nodes.len() - order.len(),
            named.join(", ")
        );
        return Err(TraceError::unusable(source_name, problem, ""));
    }
    let mut nodes: Vec<Option<ChakraNode>> = nodes.into_iter().map(Some).collect();
    Ok(order.into_iter().filter_map(|place| nodes.get_mut(place)?.take()).collect())
}
