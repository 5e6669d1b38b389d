//! When the nodes of a rank ran: as recorded, or as their dependencies allow.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use kernelgauge_data::Nanos;

use crate::chakra::attribute;
use crate::chakra::message::ChakraNode;
use crate::graph::Timing;
use crate::time::Moment;

/// Times by the place of the node, and the order of the nodes on each lane.
pub(super) struct Times {
    pub(super) timings: Vec<Timing>,
    /// Places of nodes, lane by lane.
    pub(super) lanes: Vec<Vec<usize>>,
    /// Work that was recorded to begin before its predecessor on the lane ended.
    pub(super) overlaps: u64,
}

/// Whether any node says when it began.
pub(super) fn were_recorded(nodes: &[ChakraNode]) -> bool {
    nodes.iter().any(|node| node.exact_start() > 0)
}

/// Times as recorded. On a thread, which does one thing at a time, what overlaps comes later;
/// on a stream it overlaps.
pub(super) fn recorded(nodes: &[ChakraNode], lanes: &[Vec<usize>], threads: usize) -> Times {
    let mut timings: Vec<Timing> = nodes.iter().map(own).collect();
    let mut ordered = lanes.to_vec();
    let mut overlaps = 0;
    for (lane, places) in ordered.iter_mut().enumerate() {
        places.sort_by_key(|&place| timings[place].start);
        let mut free = Moment::new(i64::MIN);
        for &place in places.iter() {
            let timing = &mut timings[place];
            overlaps += u64::from(timing.start < free);
            if lane < threads {
                timing.start = timing.start.max(free);
            }
            free = free.max(timing.end());
        }
    }
    Times { timings, lanes: ordered, overlaps }
}

/// The work of a node without what it waited for: it begins when the wait is over.
fn own(node: &ChakraNode) -> Timing {
    let duration = node.exact_duration();
    let whole = node.count(attribute::RECORDED_DURATION).unwrap_or(duration);
    let start = node.exact_start().saturating_add(whole.saturating_sub(duration));
    Timing {
        start: Moment::new(i64::try_from(start).unwrap_or(i64::MAX)),
        duration: Nanos::new(duration),
    }
}

/// The earliest times that dependencies (`arrows` between places) and lanes allow, what is ready
/// first coming first. Every node has a time only if none waits for itself.
pub(super) fn earliest(
    nodes: &[ChakraNode],
    lane_of: &[usize],
    lanes: usize,
    arrows: &[(usize, usize)],
) -> Times {
    let mut waiting = vec![0usize; nodes.len()];
    let mut behind: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for &(from, to) in arrows {
        behind[from].push(to);
        waiting[to] += 1;
    }
    let nothing = Timing { start: Moment::default(), duration: Nanos::default() };
    let mut times =
        Times { timings: vec![nothing; nodes.len()], lanes: vec![Vec::new(); lanes], overlaps: 0 };
    let mut free = vec![Moment::default(); lanes];
    let mut earliest = vec![Moment::default(); nodes.len()];
    let begin = (0..nodes.len()).filter(|&place| waiting[place] == 0);
    let mut ready: BinaryHeap<_> = begin.map(|place| Reverse((Moment::default(), place))).collect();
    while let Some(Reverse((at, place))) = ready.pop() {
        let lane = lane_of[place];
        let duration = Nanos::new(nodes[place].exact_duration());
        let timing = Timing { start: at.max(free[lane]), duration };
        free[lane] = timing.end();
        times.timings[place] = timing;
        times.lanes[lane].push(place);
        for &after in &behind[place] {
            earliest[after] = earliest[after].max(timing.end());
            waiting[after] -= 1;
            if waiting[after] == 0 {
                ready.push(Reverse((earliest[after], after)));
            }
        }
    }
    times
}
