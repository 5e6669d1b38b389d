//! Which point an op is.

use std::fmt;

use kernelgauge_data::Point;

use super::inputs::Inputs;
use super::{attention, embedding, gemm, memory};
use crate::graph::{CallId, Graph};

/// Why an op has no point.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Uncovered {
    /// No family has ops of this name.
    NoFamily,
    /// The recording does not state the shapes.
    NoShapes,
    /// A size is a symbol.
    Symbolic(String),
    /// A tensor without elements: nothing but the launch.
    Empty,
    /// An element type no family has.
    Dtype(String),
    /// What the family needs was not recorded.
    Missing(&'static str),
    /// It differs from what the family measures.
    Differs(&'static str),
    /// The point it would be is refused.
    Refused(String),
}

impl fmt::Display for Uncovered {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Uncovered::NoFamily => write!(out, "no family covers it"),
            Uncovered::NoShapes => write!(out, "shapes are not recorded"),
            Uncovered::Symbolic(symbol) => write!(out, "needs a value for {symbol}"),
            Uncovered::Empty => write!(out, "no elements: launches only"),
            Uncovered::Dtype(name) => write!(out, "no family has the element type {name}"),
            Uncovered::Missing(what) => write!(out, "{what} not recorded"),
            Uncovered::Differs(how) => write!(out, "{how}"),
            Uncovered::Refused(why) => write!(out, "{why}"),
        }
    }
}

/// The point of a call.
///
/// # Errors
/// Why it has none.
pub fn point(graph: &Graph, call: CallId) -> Result<Point, Uncovered> {
    let this = graph.call(call);
    let name = graph.names.text(this.name);
    if let Some(backward) = embedding::backward(graph, call) {
        return checked(backward?);
    }
    let Some(facts) = this.facts.and_then(|row| graph.ops.get(row)) else {
        return Err(match family_of(name) {
            true => Uncovered::NoShapes,
            false => Uncovered::NoFamily,
        });
    };
    let inputs = Inputs::read(facts, &graph.names);
    let found = gemm::point(name, &inputs)
        .or_else(|| embedding::point(name, &inputs))
        .or_else(|| attention::point(name, &inputs))
        .or_else(|| memory::point(name, &inputs));
    match found {
        Some(point) => checked(point?),
        None => Err(Uncovered::NoFamily),
    }
}

fn family_of(name: &str) -> bool {
    gemm::is_one(name) || embedding::is_one(name) || attention::is_one(name) || memory::is_one(name)
}

/// A point that its family accepts.
///
/// # Errors
/// Why it does not.
pub fn checked(point: Point) -> Result<Point, Uncovered> {
    if is_empty(&point) {
        return Err(Uncovered::Empty);
    }
    match point.check() {
        Ok(()) => Ok(point),
        Err(error) => Err(Uncovered::Refused(error.to_string())),
    }
}

/// Whether there is nothing to compute or to move.
fn is_empty(point: &Point) -> bool {
    match point {
        Point::Gemm(product) => [product.batch, product.m, product.n, product.k].contains(&0),
        Point::Embedding(bags) => bags.lookups() == 0 || bags.dim == 0,
        Point::Attention(attention) => {
            [attention.batch, attention.query_len, attention.kv_len].contains(&0)
        }
        Point::Memory(memory) => memory.elements() == 0,
        Point::Copy(copy) => copy.bytes == 0,
        Point::Collective(collective) => collective.bytes == 0,
        Point::Custom(_) => false,
    }
}
