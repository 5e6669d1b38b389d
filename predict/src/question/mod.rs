//! From command-line values to a point, in the vocabulary of one machine.
//!
//! Left to others: the declaration of the values (`args`), the checks of the point itself
//! (`kernelgauge_data`), and whether the machine's model covers it (`kernelgauge_model`).

mod dtype;
mod error;
pub(crate) mod shapes;
pub mod tables;

pub use dtype::{Vocabulary, stand_in, stand_in_difference};
pub use error::QuestionError;
pub use tables::{Alike, TablesError};

use kernelgauge_data::{Collective, Family, Links, MemoryOp, Point};

use crate::args::{
    AskOptions, AttentionArguments, CollectiveArguments, Command, CopyArguments, CustomArguments,
    EmbeddingArguments, GemmArguments, MatrixArguments,
};

/// What a question is asked of: a machine and the variants its model has in the family.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// Name of the machine.
    pub machine: &'a str,
    /// How its devices are linked.
    pub links: Links,
    /// Names of the variants of the family asked for.
    pub variants: &'a [String],
    /// Whether published figures answer, for which nothing has to be measured.
    pub described: bool,
}

/// A single question as the command line put it, with the op decided.
#[derive(Debug, Clone, Copy)]
pub enum Asked<'a> {
    /// A matrix product.
    Gemm(&'a GemmArguments),
    /// An embedding bag.
    Embedding(&'a EmbeddingArguments),
    /// Attention.
    Attention(&'a AttentionArguments),
    /// A memory-bound op.
    Memory(MemoryOp, &'a MatrixArguments),
    /// A copy.
    Copy(&'a CopyArguments),
    /// A collective.
    Collective(Collective, &'a CollectiveArguments),
    /// An op of the data set's own.
    Custom(&'a CustomArguments),
}

impl<'a> Asked<'a> {
    /// The question in `command`; none for the commands that ask no single question.
    ///
    /// # Errors
    /// [`QuestionError::Unknown`] for a memory op that does not exist.
    pub fn of(command: &'a Command) -> Result<Option<Self>, QuestionError> {
        let asked = match command {
            Command::Gemm(arguments) => Asked::Gemm(arguments),
            Command::Embedding(arguments) => Asked::Embedding(arguments),
            Command::Attention(arguments) => Asked::Attention(arguments),
            Command::Copy(arguments) => Asked::Copy(arguments),
            Command::Custom(arguments) => Asked::Custom(arguments),
            Command::Memory(arguments) => {
                let op = arguments.op.replace('-', "_").parse()?;
                Asked::Memory(op, &arguments.matrix)
            }
            Command::Batch(_)
            | Command::Machines(_)
            | Command::Inspect(_)
            | Command::Ops(_)
            | Command::Overheads(_) => return Ok(None),
            other => match (collective(other), memory_op(other)) {
                (Some((collective, arguments)), _) => Asked::Collective(collective, arguments),
                (_, Some((op, matrix))) => Asked::Memory(op, matrix),
                (None, None) => return Ok(None),
            },
        };
        Ok(Some(asked))
    }

    /// The family asked about.
    pub fn family(&self) -> Family {
        match self {
            Asked::Gemm(_) => Family::Gemm,
            Asked::Embedding(_) => Family::Embedding,
            Asked::Attention(_) => Family::Attention,
            Asked::Memory(..) => Family::Memory,
            Asked::Copy(_) => Family::Copy,
            Asked::Collective(..) => Family::Collective,
            Asked::Custom(_) => Family::Custom,
        }
    }

    /// Which model answers, and how the answer is printed.
    pub fn options(&self) -> &'a AskOptions {
        match self {
            Asked::Gemm(arguments) => &arguments.ask,
            Asked::Embedding(arguments) => &arguments.ask,
            Asked::Attention(arguments) => &arguments.ask,
            Asked::Memory(_, arguments) => &arguments.ask,
            Asked::Copy(arguments) => &arguments.ask,
            Asked::Collective(_, arguments) => &arguments.ask,
            Asked::Custom(arguments) => &arguments.ask,
        }
    }

    /// The point that is meant, checked.
    ///
    /// # Errors
    /// Names the value that cannot be meant, or what `subject` has instead.
    pub fn point(&self, subject: &Subject<'_>) -> Result<Point, QuestionError> {
        let point = match self {
            Asked::Gemm(arguments) => shapes::gemm(arguments, subject)?,
            Asked::Embedding(arguments) => shapes::embedding(arguments, subject)?,
            Asked::Attention(arguments) => shapes::attention(arguments, subject)?,
            Asked::Memory(op, arguments) => shapes::memory(*op, arguments, subject)?,
            Asked::Copy(arguments) => shapes::copy(arguments)?,
            Asked::Collective(collective, arguments) => {
                shapes::collective(*collective, arguments, subject)?
            }
            Asked::Custom(arguments) => shapes::custom(arguments)?,
        };
        point.check()?;
        Ok(point)
    }
}

fn collective(command: &Command) -> Option<(Collective, &CollectiveArguments)> {
    Some(match command {
        Command::AllReduce(arguments) => (Collective::AllReduce, arguments),
        Command::AllGather(arguments) => (Collective::AllGather, arguments),
        Command::ReduceScatter(arguments) => (Collective::ReduceScatter, arguments),
        Command::AllToAll(arguments) => (Collective::AllToAll, arguments),
        Command::AllToAllV(arguments) => (Collective::AllToAllV, arguments),
        Command::Broadcast(arguments) => (Collective::Broadcast, arguments),
        Command::Reduce(arguments) => (Collective::Reduce, arguments),
        Command::Gather(arguments) => (Collective::Gather, arguments),
        Command::Scatter(arguments) => (Collective::Scatter, arguments),
        Command::SendRecv(arguments) => (Collective::SendRecv, arguments),
        _ => return None,
    })
}

fn memory_op(command: &Command) -> Option<(MemoryOp, &MatrixArguments)> {
    Some(match command {
        Command::Add(matrix) => (MemoryOp::Add, matrix),
        Command::Scale(matrix) => (MemoryOp::Scale, matrix),
        Command::Relu(matrix) => (MemoryOp::Relu, matrix),
        Command::Sigmoid(matrix) => (MemoryOp::Sigmoid, matrix),
        Command::Gelu(matrix) => (MemoryOp::Gelu, matrix),
        Command::Sum(matrix) => (MemoryOp::Sum, matrix),
        Command::Softmax(matrix) => (MemoryOp::Softmax, matrix),
        Command::LayerNorm(matrix) => (MemoryOp::LayerNorm, matrix),
        Command::Transpose(matrix) => (MemoryOp::Transpose, matrix),
        Command::Concat(matrix) => (MemoryOp::Concat, matrix),
        Command::Fill(matrix) => (MemoryOp::Fill, matrix),
        Command::Dropout(matrix) => (MemoryOp::Dropout, matrix),
        Command::Cast(matrix) => (MemoryOp::Cast, matrix),
        Command::Triangle(matrix) => (MemoryOp::Triangle, matrix),
        Command::LayerNormBackward(matrix) => (MemoryOp::LayerNormBackward, matrix),
        _ => return None,
    })
}
