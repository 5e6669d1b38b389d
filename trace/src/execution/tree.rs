//! The nodes as a tree: order, parents, orphans, cycles. All walks are loops: a trace may nest
//! deeper than a stack.

use std::collections::{HashMap, HashSet};

use super::node::{Node, NodeKind, NodeOddities};
use crate::error::TraceError;
use crate::names::Names;

/// How many orphans are listed by number.
const LISTED_ORPHANS: usize = 8;
/// How many nodes of a cycle an error names.
const NAMED_NODES: usize = 8;

/// A node and the number of its parent, where stated.
pub(super) struct Loose {
    pub node: Node,
    pub parent: Option<u64>,
}

/// Puts the process first and the others in order, and gives each its parent.
///
/// # Errors
///
/// Nodes whose parents lead round in a circle.
pub(super) fn grown(
    mut loose: Vec<Loose>,
    names: &Names,
    source_name: &str,
    oddities: &mut NodeOddities,
) -> Result<Vec<Node>, TraceError> {
    loose.sort_by_key(|loose| (loose.node.kind != NodeKind::Process, loose.node.id));
    if loose.first().is_none_or(|first| first.node.kind != NodeKind::Process) {
        oddities.without_process = true;
        let taken: HashSet<u64> = loose.iter().map(|loose| loose.node.id).collect();
        let free = (0..).find(|id| !taken.contains(id)).unwrap_or(0);
        loose.insert(0, Loose { node: Node::process(free), parent: None });
    }
    let places: HashMap<u64, usize> =
        loose.iter().enumerate().map(|(place, loose)| (loose.node.id, place)).collect();
    let mut nodes = Vec::with_capacity(loose.len());
    for (place, Loose { mut node, parent }) in loose.into_iter().enumerate() {
        let found = parent.and_then(|parent| places.get(&parent)).copied();
        node.parent = match found {
            _ if place == 0 => 0,
            Some(parent) if parent != place => parent,
            _ => {
                oddities.orphans += 1;
                if oddities.first_orphans.len() < LISTED_ORPHANS {
                    oddities.first_orphans.push(node.id);
                }
                0
            }
        };
        nodes.push(node);
    }
    match cycle(&nodes) {
        Some(cycle) => Err(circular(&nodes, &cycle, names, source_name)),
        None => Ok(nodes),
    }
}

/// The places of nodes that lead round in a circle, each the child of the next.
fn cycle(nodes: &[Node]) -> Option<Vec<usize>> {
    // The walk that first met a place; walks end at places of earlier ones, and at the process.
    let mut met = vec![0_usize; nodes.len()];
    for start in 1..nodes.len() {
        let mut at = start;
        while at != 0 {
            match met.get_mut(at) {
                Some(walk) if *walk == 0 => *walk = start,
                Some(walk) if *walk == start => return Some(around(nodes, at)),
                _ => break,
            }
            at = nodes.get(at).map_or(0, |node| node.parent);
        }
    }
    None
}

fn around(nodes: &[Node], first: usize) -> Vec<usize> {
    let mut places = vec![first];
    let mut at = nodes.get(first).map_or(first, |node| node.parent);
    while at != first {
        places.push(at);
        at = nodes.get(at).map_or(first, |node| node.parent);
    }
    places
}

fn circular(nodes: &[Node], cycle: &[usize], names: &Names, source_name: &str) -> TraceError {
    let members = || cycle.iter().filter_map(|&place| nodes.get(place));
    let mut listed: Vec<String> = members()
        .take(NAMED_NODES)
        .map(|node| format!("{} ({})", node.id, names.text(node.name)))
        .collect();
    if cycle.len() > NAMED_NODES {
        listed.push(format!("{} more", cycle.len() - NAMED_NODES));
    }
    TraceError::Content {
        source_name: source_name.to_owned(),
        place: format!("node {}", members().map(|node| node.id).next().unwrap_or(0)),
        problem: format!("its parents lead back to it: {}", listed.join(", ")),
        hint: None,
    }
}
