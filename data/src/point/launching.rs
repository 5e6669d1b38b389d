//! The custom ops that this tool measures itself: what launching costs, over how often.
//!
//! Left to others: how each is timed (`kernelgauge-cuda`, `nvidia::overheads`), and what a model
//! makes of it.

use crate::point::CustomPoint;

/// The parameter of every such op: how often.
pub const COUNT: &str = "count";

/// The ops by name.
pub const OPS: [&str; 8] = [
    "launch/kernel",
    "launch/copy",
    "launch/graph",
    "gap/stream",
    "gap/graph",
    "event/record",
    "synchronise/idle",
    "synchronise/kernel",
];

impl CustomPoint {
    /// Whether it is one of these, whose time may well be the same however often.
    pub fn is_launching(&self) -> bool {
        let by_count = matches!(self.parameters.as_slice(), [(name, _)] if name == COUNT);
        by_count && OPS.contains(&self.op.as_str())
    }
}
