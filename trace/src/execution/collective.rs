//! What a node `record_param_comms` says of a collective: by position, and since 1.1.0 also by
//! name.
//!
//! Left to others: which kind of collective a name means, and who takes part.

use serde_json::value::RawValue;

use super::value;
use super::written::WrittenNode;
use crate::names::{Names, Symbol};
use crate::recording::{CollectiveFacts, NONE};

/// The name of nodes that state a collective.
pub(super) const NODE_NAME: &str = "record_param_comms";

/// The most ranks of a group that are spelt out from start, stride and size.
const MOST_RANKS: i64 = 4096;

/// A collective, and the rank that called it where the node says so.
pub(super) struct Stated {
    pub facts: CollectiveFacts,
    /// The calling rank, from calls that name no root or peer in its place.
    pub rank: Option<u32>,
    /// The number by which schemas before 1.0.3 name a group, or 0.
    pub group_number: u64,
}

/// What a node says of a collective; none if it names none.
pub(super) fn stated(node: &WrittenNode<'_>, names: &mut Names) -> Option<Stated> {
    let inputs = node.inputs().ok()?;
    let outputs = node.outputs().ok()?;
    let values = inputs.values.and_then(value::list).unwrap_or_default();
    let types = inputs.types.and_then(value::list).unwrap_or_default();
    let position = Positional::new(&values);
    let name = node.text("collective_name").or_else(|| position.name.clone())?;
    let start = node.integer("global_rank_start").or(position.integer_behind(3));
    let stride = node.integer("global_rank_stride").or(position.integer_behind(4));
    // Schema 1.0.2 writes the size alone, where later ones begin with the first rank.
    let size = node
        .integer("pg_size")
        .or_else(|| position.integer_behind(5))
        .or_else(|| position.behind(4).is_none().then(|| position.integer_behind(3)).flatten());
    let spaced = start.zip(stride).filter(|(start, stride)| *start >= 0 && *stride >= 1);
    let (group, description, group_number) = position.group();
    let rank = position.rank().map(|rank| match spaced {
        Some((start, stride)) => start.saturating_add(stride.saturating_mul(rank)),
        None => rank,
    });
    let elements = |name, tensors: Option<&RawValue>| {
        node.integer(name).or_else(|| tensors.and_then(element_count)).unwrap_or(NONE)
    };
    let dtype = node.text("dtype").or_else(|| position.dtype(&types)).unwrap_or_default();
    let facts = CollectiveFacts {
        dtype: names.symbol(&dtype),
        elements_in: elements("in_msg_nelems", position.tensors),
        elements_out: elements("out_msg_nelems", outputs.values),
        group_size: size.unwrap_or(NONE),
        group: names.symbol(&node.text("pg_name").unwrap_or(group)),
        description: names.symbol(&node.text("pg_desc").unwrap_or(description)),
        ranks: names.symbol(&spelt_out(spaced, size)),
        split_in: splits(node, "in_split_size", position.behind(1), names),
        split_out: splits(node, "out_split_size", position.behind(2), names),
        sequence: position.sequence(),
        communicator: Symbol::EMPTY,
        source: rank.filter(|_| name == "recv").unwrap_or(NONE),
        destination: rank.filter(|_| name == "send").unwrap_or(NONE),
        name: names.symbol(&name),
    };
    let rank =
        rank.filter(|_| !names_another_rank(&name)).and_then(|rank| u32::try_from(rank).ok());
    Some(Stated { facts, rank, group_number })
}

/// Whether the place of the rank holds the root or the peer instead.
fn names_another_rank(name: &str) -> bool {
    let name = name.trim_start_matches('_');
    let rooted = ["broadcast", "reduce", "scatter", "gather", "send", "recv", "init"];
    rooted.iter().any(|rooted| name.starts_with(rooted)) && !name.starts_with("reduce_scatter")
}

/// Values by position: `[tensors,] sequence, group, rank, name, splits in, splits out, first
/// rank, stride, size`; the name is the first text.
struct Positional<'a> {
    values: &'a [&'a RawValue],
    name_at: Option<usize>,
    name: Option<String>,
    tensors: Option<&'a RawValue>,
}

impl<'a> Positional<'a> {
    fn new(values: &'a [&'a RawValue]) -> Self {
        let name_at = values.iter().position(|value| value.get().starts_with('"'));
        let name = name_at.and_then(|at| values.get(at)).and_then(|name| value::text(name));
        let mut positional = Positional { values, name_at, name, tensors: None };
        positional.tensors = positional.before(4);
        positional
    }

    /// The value so many places before the name.
    fn before(&self, count: usize) -> Option<&'a RawValue> {
        self.values.get(self.name_at?.checked_sub(count)?).copied()
    }

    /// The value so many places behind the name.
    fn behind(&self, count: usize) -> Option<&'a RawValue> {
        self.values.get(self.name_at?.checked_add(count)?).copied()
    }

    fn integer_behind(&self, count: usize) -> Option<i64> {
        self.behind(count).and_then(value::integer)
    }

    fn rank(&self) -> Option<i64> {
        self.before(1).and_then(value::integer).filter(|rank| *rank >= 0)
    }

    /// Name, description and, before 1.0.3, number of the group.
    fn group(&self) -> (String, String, u64) {
        let Some(group) = self.before(2) else { return Default::default() };
        match value::list(group) {
            Some(pair) => {
                let text = |at: usize| pair.get(at).and_then(|part| value::text(part));
                (text(0).unwrap_or_default(), text(1).unwrap_or_default(), 0)
            }
            None => match value::identity(group) {
                Some(0) | None => Default::default(),
                Some(number) => (number.to_string(), String::new(), number),
            },
        }
    }

    /// The number of the call: an integer, or the first of a pair.
    fn sequence(&self) -> i64 {
        let Some(sequence) = self.before(3) else { return NONE };
        let first = value::list(sequence).and_then(|pair| pair.first().copied());
        value::integer(first.unwrap_or(sequence)).unwrap_or(NONE)
    }

    /// The element type of the tensors: what stands in brackets in `GenericList[Tensor(float)]`.
    fn dtype(&self, types: &[&RawValue]) -> Option<String> {
        let text = value::text(types.get(self.name_at?.checked_sub(4)?)?)?;
        let (_, behind) = text.split_once("Tensor(")?;
        Some(behind.split(')').next()?.to_owned())
    }
}

/// Elements of the tensors of a value: a tensor, a list of tensors, or a list of such lists
/// (all-gather); deeper lists hold none. None where there is no tensor: collectives that return
/// their results in place of inputs list no outputs in some years.
fn element_count(value: &RawValue) -> Option<i64> {
    let mut level = vec![value];
    let mut sum: Option<i64> = None;
    for _ in 0..3 {
        let mut next = Vec::new();
        for parts in level.into_iter().filter_map(value::list) {
            match tensor_elements(&parts) {
                Some(elements) => sum = Some(sum.unwrap_or(0).saturating_add(elements)),
                None => next.extend(parts.into_iter().filter(|part| part.get().starts_with('['))),
            }
        }
        level = next;
    }
    sum
}

/// The elements of a tensor, `[tensor, storage, offset, elements, item size, device]`; none if
/// it is no tensor.
fn tensor_elements(parts: &[&RawValue]) -> Option<i64> {
    let [tensor, storage, offset, elements, item, device] = parts else { return None };
    let numbers = [tensor, storage, offset, elements, item];
    let is_tensor = numbers.iter().all(|part| is_number(part)) && device.get().starts_with('"');
    is_tensor.then(|| value::integer(elements).unwrap_or(0).max(0))
}

fn is_number(value: &RawValue) -> bool {
    value.get().starts_with(|letter: char| letter.is_ascii_digit() || letter == '-')
}

/// A list of splits as written; empty where it is not stated or even.
fn splits(
    node: &WrittenNode<'_>,
    name: &str,
    position: Option<&RawValue>,
    names: &mut Names,
) -> Symbol {
    let text = node.text(name).or_else(|| position.map(|splits| splits.get().to_owned()));
    match text.as_deref().map(str::trim) {
        None | Some("[]") => Symbol::EMPTY,
        Some(text) => names.symbol(text),
    }
}

/// `[0, 1, 2]`; empty where it is not stated or too long.
fn spelt_out(spaced: Option<(i64, i64)>, size: Option<i64>) -> String {
    let Some(((start, stride), size)) = spaced.zip(size) else { return String::new() };
    if !(1..=MOST_RANKS).contains(&size) {
        return String::new();
    }
    let rank = |place: i64| start.saturating_add(stride.saturating_mul(place)).to_string();
    let ranks: Vec<String> = (0..size).map(rank).collect();
    format!("[{}]", ranks.join(", "))
}
