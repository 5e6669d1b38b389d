//! Rules for how nodes follow each other.

use std::collections::{BTreeMap, HashMap};

use super::{Rule, Violation};
use crate::chakra::message::ChakraNode;

/// Nodes of a cycle that are listed.
const LISTED: usize = 8;

pub(super) fn check(nodes: &[ChakraNode], violations: &mut Vec<Violation>) {
    let mut places: HashMap<u64, usize> = HashMap::new();
    for (place, node) in nodes.iter().enumerate() {
        if places.insert(node.id, place).is_some() {
            let detail = "another node has the same id".to_owned();
            violations.push(Violation { rule: Rule::UniqueId, node: Some(node.id), detail });
        }
    }
    dependencies(nodes, &places, violations);
    streams(nodes, violations);
    let stuck = stuck(nodes, &places);
    if let Some(&first) = stuck.first() {
        let listed: Vec<String> = stuck.iter().take(LISTED).map(u64::to_string).collect();
        let more = if stuck.len() > LISTED { ", ..." } else { "" };
        let listed = listed.join(", ");
        let detail = format!("{} nodes wait for each other: {listed}{more}", stuck.len());
        violations.push(Violation { rule: Rule::Acyclic, node: Some(first), detail });
    }
}

fn dependencies(
    nodes: &[ChakraNode],
    places: &HashMap<u64, usize>,
    violations: &mut Vec<Violation>,
) {
    for node in nodes {
        let all = node.data_dependencies.iter().chain(&node.control_dependencies);
        for dependency in all.filter(|dependency| !places.contains_key(dependency)) {
            let detail = format!("it depends on node {dependency}, which is not there");
            violations.push(Violation { rule: Rule::Dependency, node: Some(node.id), detail });
        }
    }
}

/// Ids of nodes that can never run because they, or what they wait for, wait for each other.
pub(in crate::chakra) fn stuck(nodes: &[ChakraNode], places: &HashMap<u64, usize>) -> Vec<u64> {
    let mut waiting = vec![0usize; nodes.len()];
    let mut successors: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for (place, node) in nodes.iter().enumerate() {
        let all = node.data_dependencies.iter().chain(&node.control_dependencies);
        for &before in all.filter_map(|dependency| places.get(dependency)) {
            successors[before].push(place);
            waiting[place] += 1;
        }
    }
    let mut ready: Vec<usize> = (0..nodes.len()).filter(|&place| waiting[place] == 0).collect();
    while let Some(place) = ready.pop() {
        for &after in &successors[place] {
            waiting[after] -= 1;
            if waiting[after] == 0 {
                ready.push(after);
            }
        }
    }
    let left = nodes.iter().zip(&waiting).filter(|(_, waiting)| **waiting > 0);
    left.map(|(node, _)| node.id).collect()
}

/// Work of a stream, by when it began, each after the one before.
fn streams(nodes: &[ChakraNode], violations: &mut Vec<Violation>) {
    let mut streams: BTreeMap<i64, Vec<&ChakraNode>> = BTreeMap::new();
    for node in nodes.iter().filter(|node| node.is_cpu_op() == Some(false)) {
        if let Some(stream) = node.stream() {
            streams.entry(stream).or_default().push(node);
        }
    }
    for (stream, mut work) in streams {
        work.sort_by_key(|node| node.exact_start());
        for pair in work.windows(2) {
            let [before, after] = pair else { continue };
            let depends = after.data_dependencies.contains(&before.id);
            if !depends {
                let detail = format!(
                    "it does not depend on node {}, which comes before it on stream {stream}",
                    before.id
                );
                violations.push(Violation {
                    rule: Rule::StreamOrder,
                    node: Some(after.id),
                    detail,
                });
            }
        }
    }
}
