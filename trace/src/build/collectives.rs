//! What a collective does, with how many bytes, in which group: from the kernel itself, from the
//! op around its launch, or from the execution trace.

mod kinds;

use std::collections::HashMap;

use super::device::Communication;
use super::elements;
use super::host::Host;
use crate::execution::ExecutionTrace;
use crate::graph::{
    CallId, Collective, CollectiveId, CollectiveKind, Graph, Group, GroupId, StatedBy, TaskId,
};
use crate::names::{Names, Symbol};
use crate::recording::{CollectiveFacts, NONE, Recording};

pub use kinds::{of_kernel, of_name};

/// Where facts may come from.
pub struct Source<'a> {
    /// The recording.
    pub recording: &'a Recording,
    /// Its calls.
    pub host: &'a Host,
    /// The execution trace of the same rank.
    pub execution: Option<&'a ExecutionTrace>,
}

/// Describes the collectives of a rank, in the order in which they were launched.
pub fn describe(
    graph: &mut Graph,
    rank: u32,
    communications: &[Communication],
    source: &Source<'_>,
) {
    let mut ordered = communications.to_vec();
    ordered.sort_by_key(|communication| launched(graph, communication.task));
    let mut counts: HashMap<Option<GroupId>, u64> = HashMap::new();
    let mut addresses = Addresses::default();
    for communication in ordered {
        let mut collective = facts(graph, rank, communication, source, &mut addresses);
        let between_two =
            matches!(collective.kind, Some(CollectiveKind::Send | CollectiveKind::Receive));
        if !between_two && collective.sequence.is_none() {
            let count = counts.entry(collective.group).or_default();
            collective.sequence = Some(*count);
            *count += 1;
        }
        let described = collective.kind.is_some()
            && (collective.bytes_in.is_some() || collective.kind == Some(CollectiveKind::Barrier));
        graph.links.collectives += 1;
        graph.links.described_collectives += u64::from(described);
        let id = CollectiveId(graph.collectives.len() as u32);
        graph.collectives.push(collective);
        graph.tasks[communication.task.0 as usize].collective = Some(id);
    }
}

/// When work was launched, or began where its launch is not known.
fn launched(graph: &Graph, task: TaskId) -> (Option<crate::Moment>, TaskId) {
    let this = graph.task(task);
    let timing = this.launch.map_or(this.timing, |launch| graph.task(launch).timing);
    (timing.map(|timing| timing.start), task)
}

fn facts(
    graph: &mut Graph,
    rank: u32,
    communication: Communication,
    source: &Source<'_>,
    addresses: &mut Addresses,
) -> Collective {
    let recording = source.recording;
    let call = graph.task(communication.task).call;
    let stated = communication.stated.and_then(|row| recording.collectives.get(row));
    let on_op = |call: CallId| recording.collectives.get(*source.host.collectives.get(&call)?);
    let by_op = around(graph, call).find_map(on_op);
    let by_node = source.execution.and_then(|execution| {
        let node = |call| super::nodes::collective(graph, call, execution);
        around(graph, call).find_map(node)
    });
    let name = graph.task(communication.task).name;
    let by_kernel = of_kernel(graph.names.text(name));
    let (facts, names, stated_by) = match (stated, by_op, by_node) {
        (Some(facts), _, _) => (facts, &recording.names, StatedBy::Kernel),
        (None, Some(facts), _) => (facts, &recording.names, StatedBy::Op),
        (None, None, Some((facts, names))) => (facts, names, StatedBy::ExecutionTrace),
        (None, None, None) => return from_range(graph, rank, call, by_kernel),
    };
    let kind = of_name(names.text(facts.name)).or(by_kernel);
    let mut collective = from_facts(graph, facts, names, kind, stated_by);
    let place = addresses.place(names.text(facts.group));
    collective.group = match place {
        None => Some(group(graph, rank, facts, names, recording)),
        Some(place) => graph.ranks[rank as usize].world_size.map(|world| {
            let name = if place == 0 { String::new() } else { format!("#{place}") };
            everybody(graph, &name, world)
        }),
    };
    if place.is_some() {
        // Counted by the process over all its groups, waits included.
        collective.sequence = None;
    }
    if collective.bytes_in.is_none() {
        let ranged = from_range(graph, rank, call, by_kernel);
        collective.bytes_in = ranged.bytes_in;
        collective.bytes_out = ranged.bytes_out;
        collective.dtype = ranged.dtype;
    }
    collective
}

/// A call and the calls around it, innermost first.
fn around(graph: &Graph, call: Option<CallId>) -> impl Iterator<Item = CallId> {
    std::iter::successors(call, |&call| graph.call(call).parent)
}

fn from_facts(
    graph: &mut Graph,
    facts: &CollectiveFacts,
    names: &Names,
    kind: Option<CollectiveKind>,
    stated_by: StatedBy,
) -> Collective {
    let size = elements::bytes_of(names.text(facts.dtype));
    let bytes = |elements: i64| u64::try_from(elements).ok()?.checked_mul(size?);
    let number = |number: i64| (number != NONE).then_some(number);
    let peer = match kind {
        Some(CollectiveKind::Send) => number(facts.destination),
        Some(CollectiveKind::Receive) => number(facts.source),
        _ => None,
    };
    Collective {
        kind,
        dtype: graph.names.symbol(names.text(facts.dtype)),
        bytes_in: bytes(facts.elements_in),
        bytes_out: bytes(facts.elements_out),
        group: None,
        sequence: number(facts.sequence).and_then(|number| u64::try_from(number).ok()),
        split_in: graph.names.symbol(names.text(facts.split_in)),
        split_out: graph.names.symbol(names.text(facts.split_out)),
        peer: peer.and_then(|peer| u32::try_from(peer).ok()),
        stated_by,
    }
}

/// Facts of a collective that states nothing itself: kind from the range around its launch
/// (`nccl:all_reduce`), else from the kernel's name; bytes from the range's first tensor.
fn from_range(
    graph: &mut Graph,
    rank: u32,
    call: Option<CallId>,
    by_kernel: Option<CollectiveKind>,
) -> Collective {
    let mut kind = None;
    let mut tensor = None;
    // Ranges lie within the op that is the innermost; look at its children too.
    let inner = call.and_then(|call| range_within(graph, call));
    for id in inner.into_iter().chain(around(graph, call)) {
        let this = graph.call(id);
        kind = kind.or_else(|| of_name(graph.names.text(this.name)));
        if tensor.is_none()
            && let Some(facts) = this.facts.and_then(|row| graph.ops.get(row))
        {
            let text = |symbol| graph.names.text(symbol);
            tensor = elements::first_tensor(text(facts.dims), text(facts.types));
        }
        if kind.is_some() && tensor.is_some() {
            break;
        }
    }
    let kind = kind.or(by_kernel);
    let world = graph.ranks.get(rank as usize).and_then(|rank| rank.world_size);
    let bytes_in = tensor
        .as_ref()
        .and_then(|(elements, dtype)| elements.checked_mul(elements::bytes_of(dtype)?));
    let ranks = world.map(u64::from);
    let bytes_out = match kind {
        Some(CollectiveKind::AllGather) => bytes_in.zip(ranks).and_then(|(b, n)| b.checked_mul(n)),
        Some(CollectiveKind::ReduceScatter) => {
            bytes_in.zip(ranks).and_then(|(bytes, ranks)| bytes.checked_div(ranks))
        }
        _ => bytes_in,
    };
    let dtype = tensor.map_or(Symbol::EMPTY, |(_, dtype)| graph.names.symbol(&dtype));
    Collective {
        kind,
        dtype,
        bytes_in,
        bytes_out,
        group: world.map(|world| everybody(graph, "", world)),
        sequence: None,
        split_in: Symbol::EMPTY,
        split_out: Symbol::EMPTY,
        peer: None,
        stated_by: if bytes_in.is_some() { StatedBy::Op } else { StatedBy::Name },
    }
}

/// The range of a communication library directly within an op.
fn range_within(graph: &Graph, op: CallId) -> Option<CallId> {
    let processor = graph.call(op).processor;
    let calls = graph.calls.iter().enumerate().skip(op.0 as usize + 1);
    calls
        .take_while(|(_, call)| call.processor == processor && call.parent >= Some(op))
        .find(|(_, call)| {
            let name = graph.names.text(call.name);
            call.parent == Some(op) && (name.starts_with("nccl:") || name.starts_with("rccl:"))
        })
        .map(|(place, _)| CallId(place as u32))
}

/// Groups that a rank names by an address of its memory, as execution traces before schema 1.0.3
/// do: it differs between ranks, so the order of their first use stands for it.
#[derive(Default)]
struct Addresses(Vec<u64>);

impl Addresses {
    /// The place of a name that is an address.
    fn place(&mut self, name: &str) -> Option<usize> {
        let address = name.parse().ok().filter(|&number: &u64| number > u64::from(u32::MAX))?;
        Some(self.0.iter().position(|&known| known == address).unwrap_or_else(|| {
            self.0.push(address);
            self.0.len() - 1
        }))
    }
}

/// A group of all ranks, for recordings that do not say which ranks it has.
fn everybody(graph: &mut Graph, name: &str, world: u32) -> GroupId {
    let name = graph.names.symbol(name);
    find_group(
        graph,
        Group { name, description: Symbol::EMPTY, size: Some(world), ranks: (0..world).collect() },
    )
}

/// The group that facts name, with its ranks where they or the recording list them.
fn group(
    graph: &mut Graph,
    rank: u32,
    facts: &CollectiveFacts,
    names: &Names,
    recording: &Recording,
) -> GroupId {
    let name = names.text(facts.group);
    let listed: Vec<u32> = serde_json::from_str(names.text(facts.ranks)).unwrap_or_default();
    let recorded = recording.groups.iter().find(|group| group.name == name);
    let mut ranks = match (listed.is_empty(), recorded) {
        (true, Some(group)) => group.ranks.clone(),
        _ => listed,
    };
    let world = graph.ranks.get(rank as usize).and_then(|rank| rank.world_size);
    let size = u32::try_from(facts.group_size).ok();
    let size = size.or_else(|| u32::try_from(ranks.len()).ok().filter(|&size| size > 0));
    let size = size.or_else(|| recorded.and_then(|group| group.size));
    if ranks.is_empty() && size.is_some() && size == world {
        ranks = (0..world.unwrap_or(0)).collect();
    }
    let group = Group {
        name: graph.names.symbol(name),
        description: graph.names.symbol(names.text(facts.description)),
        size: size.or(world),
        ranks,
    };
    find_group(graph, group)
}

fn find_group(graph: &mut Graph, group: Group) -> GroupId {
    let known = graph.groups.iter().position(|known| {
        known.name == group.name && known.ranks == group.ranks && known.size == group.size
    });
    let place = known.unwrap_or_else(|| {
        graph.groups.push(group);
        graph.groups.len() - 1
    });
    GroupId(place as u32)
}
