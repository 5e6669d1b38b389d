//! What a strict consumer of Chakra traces asks for, such as ASTRA-sim: rules for single nodes
//! (`node`) and for how they follow each other (`order`).

mod node;
mod order;
#[cfg(test)]
mod tests;

use std::fmt;

use super::ChakraTrace;

/// A rule that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// The node, by its id; none for the trace as a whole.
    pub node: Option<u64>,
    /// What is there instead.
    pub detail: String,
}

/// What must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// Metadata come first.
    Metadata,
    /// Every node says whether the host does it: `is_cpu_op`.
    Side,
    /// Communication is on the device's side.
    CommunicationOnDevice,
    /// A collective says `comm_type`, `comm_size` and `pg_name`, the last an integer.
    Collective,
    /// A consumer replays only all-reduce, all-gather, reduce-scatter, all-to-all, broadcast.
    ReplayedCollective,
    /// A transfer says `comm_src`, `comm_dst`, `comm_size` and `comm_tag`.
    Transfer,
    /// Work takes at least a microsecond; only what is stated to take 0 ns takes none.
    Duration,
    /// Ids are unique.
    UniqueId,
    /// Dependencies are nodes of the trace.
    Dependency,
    /// No node waits for itself, over however many others.
    Acyclic,
    /// The work of a stream depends on the work before it.
    StreamOrder,
}

impl fmt::Display for Rule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Rule::Metadata => "metadata come first",
            Rule::Side => "every node says is_cpu_op",
            Rule::CommunicationOnDevice => "communication is on the device's side",
            Rule::Collective => "a collective says comm_type, comm_size and an integer pg_name",
            Rule::ReplayedCollective => "only five kinds of collectives are replayed",
            Rule::Transfer => "a transfer says comm_src, comm_dst, comm_size and comm_tag",
            Rule::Duration => "work takes at least a microsecond",
            Rule::UniqueId => "ids are unique",
            Rule::Dependency => "dependencies are nodes of the trace",
            Rule::Acyclic => "no node waits for itself",
            Rule::StreamOrder => "work of a stream depends on the work before it",
        })
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(node) = self.node {
            write!(out, "node {node}: ")?;
        }
        write!(out, "{} ({})", self.detail, self.rule)
    }
}

/// Everything that does not hold, node by node, then over all.
pub fn check(trace: &ChakraTrace) -> Vec<Violation> {
    let mut violations = Vec::new();
    if trace.metadata.is_none() {
        let detail = "there are no metadata".to_owned();
        violations.push(Violation { rule: Rule::Metadata, node: None, detail });
    }
    for node in &trace.nodes {
        node::check(node, &mut violations);
    }
    order::check(&trace.nodes, &mut violations);
    violations
}
