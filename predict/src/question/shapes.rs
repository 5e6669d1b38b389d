//! The point of each op from its command-line values, unchecked.

use kernelgauge_data::{
    AttentionPhase, AttentionPoint, Bytes, Collective, CollectivePoint, CopyPoint, CustomPoint,
    Direction, EmbeddingPoint, GemmLayout, GemmPoint, MemoryOp, MemoryPoint, Optimizer, Point,
};

use super::{QuestionError, Subject, Vocabulary};
use crate::args::{
    AttentionArguments, CollectiveArguments, CopyArguments, CustomArguments, EmbeddingArguments,
    GemmArguments, MatrixArguments,
};

pub fn gemm(arguments: &GemmArguments, subject: &Subject<'_>) -> Result<Point, QuestionError> {
    let GemmArguments { m, n, k, batch, .. } = *arguments;
    let dtype = Vocabulary::new(subject, "gemm", "").dtype(arguments.dtype.as_deref())?;
    let layout: GemmLayout = arguments.layout.parse()?;
    Ok(Point::Gemm(GemmPoint { dtype, batch, m, n, k, layout }))
}

/// The op on tables that are all alike.
pub fn embedding(
    arguments: &EmbeddingArguments,
    subject: &Subject<'_>,
) -> Result<Point, QuestionError> {
    Ok(Point::Embedding(bag(arguments, subject)?))
}

/// The bag that the options describe; what only a file of tables leaves out is 1.
pub fn bag(
    arguments: &EmbeddingArguments,
    subject: &Subject<'_>,
) -> Result<EmbeddingPoint, QuestionError> {
    let direction: Direction = arguments.direction.parse()?;
    let optimizer: Optimizer = arguments.optimizer.as_deref().unwrap_or_default().parse()?;
    let prefix = match direction {
        Direction::Forward if arguments.optimizer.is_some() => {
            return Err(QuestionError::ForwardHasNoOptimizer);
        }
        Direction::Forward => "forward".to_owned(),
        Direction::Backward => format!("backward/{}", optimizer.name()),
    };
    let op = format!("embedding {}", direction.name());
    let dtype = Vocabulary::new(subject, &op, &prefix).dtype(arguments.dtype.as_deref())?;
    Ok(EmbeddingPoint {
        direction,
        optimizer,
        dtype,
        tables: arguments.tables.unwrap_or(1),
        rows: arguments.rows.unwrap_or(1),
        dim: arguments.dim.unwrap_or(1),
        batch: arguments.batch,
        pooling: arguments.pooling.unwrap_or(1),
        distribution: arguments.distribution.parse()?,
    })
}

pub fn attention(
    arguments: &AttentionArguments,
    subject: &Subject<'_>,
) -> Result<Point, QuestionError> {
    let AttentionArguments { batch, heads, head_dim, kv_len, window, .. } = *arguments;
    let phase: AttentionPhase = arguments.phase.parse()?;
    let query_len = arguments.query_len.unwrap_or(match phase {
        AttentionPhase::Context => kv_len,
        AttentionPhase::Generation => 1,
    });
    let op = format!("{} attention", phase.name());
    let dtype = Vocabulary::new(subject, &op, phase.name()).dtype(arguments.dtype.as_deref())?;
    let prefix = format!("{}/{dtype}", phase.name());
    let op = format!("{dtype} {op} over a cache");
    let keys = Vocabulary::new(subject, &op, &prefix);
    let kv_dtype = keys.dtype_or(arguments.kv_dtype.as_deref(), dtype)?;
    Ok(Point::Attention(AttentionPoint {
        phase,
        dtype,
        kv_dtype,
        batch,
        heads,
        kv_heads: arguments.kv_heads.unwrap_or(heads),
        head_dim,
        query_len,
        kv_len,
        window,
    }))
}

pub fn memory(
    op: MemoryOp,
    arguments: &MatrixArguments,
    subject: &Subject<'_>,
) -> Result<Point, QuestionError> {
    let dtype = Vocabulary::new(subject, op.name(), op.name()).dtype(arguments.dtype.as_deref())?;
    let rows = arguments.rows.unwrap_or(1);
    let columns = match arguments.elements {
        Some(elements) => op.columns_of(elements).ok_or(QuestionError::NoSquare(elements))?,
        None => arguments.columns.unwrap_or(1),
    };
    Ok(Point::Memory(MemoryPoint { op, dtype, rows, columns }))
}

pub fn copy(arguments: &CopyArguments) -> Result<Point, QuestionError> {
    let direction = arguments.direction.parse()?;
    let bytes = bytes(&arguments.bytes)?;
    Ok(Point::Copy(CopyPoint { direction, pinned: arguments.pinned, bytes }))
}

/// A dtype the machine lacks is kept: [`stand_in`](super::stand_in) finds the one that answers
/// for it.
pub fn collective(
    collective: Collective,
    arguments: &CollectiveArguments,
    subject: &Subject<'_>,
) -> Result<Point, QuestionError> {
    let op = collective.name().replace('_', "-");
    let vocabulary = Vocabulary::of_collective(subject, &op, collective);
    let dtype = vocabulary.collective_dtype(collective, arguments.dtype.as_deref())?;
    let CollectiveArguments { ranks, nodes, imbalance, .. } = *arguments;
    let bytes = bytes(&arguments.bytes)?;
    let links = subject.links;
    Ok(Point::Collective(CollectivePoint {
        collective,
        dtype,
        ranks,
        nodes,
        links,
        bytes,
        imbalance,
    }))
}

pub fn custom(arguments: &CustomArguments) -> Result<Point, QuestionError> {
    let parameters = arguments.parameters.iter().map(|pair| parameter(pair));
    let parameters: Vec<(String, u64)> = parameters.collect::<Result<_, _>>()?;
    Ok(Point::Custom(CustomPoint { op: arguments.name.clone(), parameters }))
}

fn parameter(pair: &str) -> Result<(String, u64), QuestionError> {
    let refuse = || QuestionError::NotAParameter(pair.to_owned());
    let (name, value) = pair.split_once('=').ok_or_else(refuse)?;
    Ok((name.to_owned(), value.parse().map_err(|_| refuse())?))
}

fn bytes(text: &str) -> Result<u64, QuestionError> {
    Ok(text.parse::<Bytes>()?.get())
}
