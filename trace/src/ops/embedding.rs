//! Embedding bags: PyTorch's own and FBGEMM's fused tables.
//!
//! Shapes tell tables, mean rows, mean dim, batch and pooling. Which rows are looked up how often
//! is not recorded: points say uniform.

use kernelgauge_data::{Direction, Distribution, EmbeddingPoint, Optimizer, Point};

use super::Uncovered;
use super::inputs::Inputs;
use crate::graph::{Call, CallId, CallKind, Graph, ProcessorId};

/// Whether an op is an embedding bag.
pub fn is_one(name: &str) -> bool {
    matches!(
        name,
        "aten::embedding"
            | "aten::_embedding_bag"
            | "aten::_embedding_bag_forward_only"
            | "aten::embedding_dense_backward"
    ) || is_fused(name)
}

fn is_fused(name: &str) -> bool {
    let Some(name) = name.strip_prefix("fbgemm::") else { return false };
    name.contains("embedding_codegen") && name.contains("lookup") && name.ends_with("function")
}

/// The bags an op reads; none for other ops.
pub fn point(name: &str, inputs: &Inputs) -> Option<Result<Point, Uncovered>> {
    match name {
        "aten::embedding" => Some(rows_of_one(inputs)),
        "aten::_embedding_bag" | "aten::_embedding_bag_forward_only" => Some(bags_of_one(inputs)),
        "aten::embedding_dense_backward" => Some(dense_backward(inputs)),
        _ if is_fused(name) => Some(fused(name, inputs)),
        _ => None,
    }
}

/// The bags whose gradient an op computes, from its forward op, which autograd numbers alike;
/// none for other ops.
pub fn backward(graph: &Graph, call: CallId) -> Option<Result<Point, Uncovered>> {
    let this = graph.call(call);
    let name = graph.names.text(this.name);
    let backward = name.contains("Backward") || name.contains("CppNode");
    if !backward || !(name.contains("Lookup") || name.contains("EmbeddingBag")) {
        return None;
    }
    let number = this.sequence?;
    let rank = graph.processor(this.processor).rank;
    let numbered = graph.calls.iter().find(|other| {
        other.sequence == Some(number)
            && other.kind == CallKind::Op
            && graph.processor(other.processor).rank == rank
            && is_one(graph.names.text(other.name))
    });
    let forward = numbered.or_else(|| following(graph, this.processor, number, name))?;
    let facts = forward.facts.and_then(|row| graph.ops.get(row))?;
    let inputs = Inputs::read(facts, &graph.names);
    let turned = point(graph.names.text(forward.name), &inputs)?.map(|point| match point {
        Point::Embedding(bag) => {
            Point::Embedding(EmbeddingPoint { direction: Direction::Backward, ..bag })
        }
        other => other,
    });
    let updates = ["Dense", "sgd", "rowwise_adagrad", "EmbeddingBag"];
    Some(turned.and_then(|point| match updates.iter().any(|known| name.contains(known)) {
        true => Ok(point),
        false => Err(Uncovered::Differs("the family updates by SGD and row-wise Adagrad alone")),
    }))
}

/// The fused lookup of the same kind that comes first after the ops that share a number with its
/// backward op: functions of C++ take their number, and their inner ops none.
fn following<'a>(
    graph: &'a Graph,
    backward: ProcessorId,
    number: i64,
    name: &str,
) -> Option<&'a Call> {
    let (_, kind) = name.split_once("LookupFunction_")?;
    let kind = kind.split_once("_Op").map_or(kind, |(kind, _)| kind).to_ascii_lowercase();
    let rank = graph.processor(backward).rank;
    let forward = graph.processors.iter().enumerate().filter(|(place, processor)| {
        processor.rank == rank && *place != backward.0 as usize && !processor.calls.is_empty()
    });
    forward.into_iter().find_map(|(_, processor)| {
        let range = processor.calls.start as usize..processor.calls.end as usize;
        let calls = graph.calls.get(range)?;
        let last = calls.iter().rposition(|call| call.sequence == Some(number))?;
        let mut later = calls.iter().skip(last + 1);
        later.find(|call| {
            let name = graph.names.text(call.name);
            is_fused(name)
                && (name.contains(&format!("lookup_{kind}_"))
                    || name.contains(&format!("{kind}_embedding")))
        })
    })
}

fn bag(dtype: kernelgauge_data::Dtype) -> EmbeddingPoint {
    EmbeddingPoint {
        direction: Direction::Forward,
        optimizer: Optimizer::Sgd,
        dtype,
        tables: 1,
        rows: 0,
        dim: 0,
        batch: 0,
        pooling: 1,
        distribution: Distribution::Uniform,
    }
}

/// `weight [rows, dim]`, any number of indices: bags of one row each.
fn rows_of_one(inputs: &Inputs) -> Result<Point, Uncovered> {
    let (weight, indices) = (inputs.tensor(0)?, inputs.tensor(1)?);
    let [rows, dim] = weight.sizes[..] else {
        return Err(Uncovered::Differs("the table has other than two axes"));
    };
    let batch = indices.elements().ok_or(Uncovered::NoShapes)?;
    Ok(Point::Embedding(EmbeddingPoint { rows, dim, batch, ..bag(weight.dtype()?) }))
}

/// `weight [rows, dim], indices [lookups], offsets [bags]`.
fn bags_of_one(inputs: &Inputs) -> Result<Point, Uncovered> {
    let (weight, indices, offsets) = (inputs.tensor(0)?, inputs.tensor(1)?, inputs.tensor(2)?);
    let [rows, dim] = weight.sizes[..] else {
        return Err(Uncovered::Differs("the table has other than two axes"));
    };
    let lookups = indices.elements().ok_or(Uncovered::NoShapes)?;
    let batch = offsets.elements().ok_or(Uncovered::NoShapes)?;
    let pooling = mean(lookups, batch)?;
    Ok(Point::Embedding(EmbeddingPoint { rows, dim, batch, pooling, ..bag(weight.dtype()?) }))
}

/// `gradient [.., dim], indices, rows, ...`.
fn dense_backward(inputs: &Inputs) -> Result<Point, Uncovered> {
    let (gradient, indices) = (inputs.tensor(0)?, inputs.tensor(1)?);
    let rows = inputs.integer(2).and_then(|rows| u64::try_from(rows).ok());
    let rows = rows.ok_or(Uncovered::Missing("the number of rows is"))?;
    let dim = *gradient.sizes.last().ok_or(Uncovered::NoShapes)?;
    let batch = indices.elements().ok_or(Uncovered::NoShapes)?;
    let (direction, optimizer) = (Direction::Backward, Optimizer::Dense);
    let bag = bag(gradient.dtype()?);
    Ok(Point::Embedding(EmbeddingPoint { direction, optimizer, rows, dim, batch, ..bag }))
}

/// FBGEMM's tables in one op: weights, `D_offsets [tables + 1]`, `total_D`, `indices [lookups]`,
/// `offsets [tables x batch + 1]`, at positions that differ between the dense op and the others.
fn fused(name: &str, inputs: &Inputs) -> Result<Point, Uncovered> {
    let dense = name.contains("dense");
    // dense: weights, weights_offsets, D_offsets, total_D, max_D, cumsum, bits, indices, offsets;
    // split: placeholder, weights, uvm, cache, placements, offsets, D_offsets, total_D, max_D,
    // cumsum, bits, indices, offsets.
    let (weights, dims, total, indices, offsets) =
        if dense { (0, 2, 3, 7, 8) } else { (1, 6, 7, 11, 12) };
    let weights = inputs.tensor(weights)?;
    let tables = length(inputs, dims)?.checked_sub(1).filter(|&tables| tables > 0);
    let tables = tables.ok_or(Uncovered::Differs("no tables"))?;
    let bags = length(inputs, offsets)?.saturating_sub(1);
    let lookups = length(inputs, indices)?;
    let total = inputs.integer(total).and_then(|total| u64::try_from(total).ok());
    let total = total.ok_or(Uncovered::Missing("the sum of the dims (total_D) is"))?;
    let elements = weights.elements().ok_or(Uncovered::NoShapes)?;
    if bags % tables != 0 {
        return Err(Uncovered::Differs("batches differ between tables"));
    }
    Ok(Point::Embedding(EmbeddingPoint {
        optimizer: match name {
            _ if dense => Optimizer::Dense,
            _ if name.contains("rowwise_adagrad") => Optimizer::RowWiseAdagrad,
            _ => Optimizer::Sgd,
        },
        tables,
        // Rows weighted by dim: what a table of the mean dim would have.
        rows: mean(elements, total)?,
        dim: mean(total, tables)?,
        batch: bags / tables,
        pooling: mean(lookups, bags)?,
        ..bag(weights.dtype()?)
    }))
}

fn length(inputs: &Inputs, position: usize) -> Result<u64, Uncovered> {
    inputs.tensor(position)?.elements().ok_or(Uncovered::NoShapes)
}

/// A mean to the nearest whole number, at least one where there is anything.
fn mean(sum: u64, count: u64) -> Result<u64, Uncovered> {
    if sum == 0 || count == 0 {
        return Err(Uncovered::Empty);
    }
    Ok((sum.saturating_add(count / 2) / count).max(1))
}
