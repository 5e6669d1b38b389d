//! What can be wrong with a question before any model is asked.

use kernelgauge_data::Diagnostic;
use kernelgauge_data::nearest::UnknownName;
use kernelgauge_data::point::PointError;
use kernelgauge_data::units::UnitError;
use thiserror::Error;

/// A question that cannot be meant.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum QuestionError {
    /// A word outside its vocabulary.
    #[error("{0}")]
    Unknown(#[from] UnknownName),
    /// Not an element type.
    #[error("unknown dtype `{name}` for {op}")]
    UnknownDtype {
        /// What was given.
        name: String,
        /// What it was given for.
        op: String,
        /// The nearest dtype the machine has, if one is near.
        nearest: Option<String>,
        /// The machine.
        machine: String,
        /// The dtypes it has, joined.
        known: String,
    },
    /// An element type the machine was not measured in.
    #[error("{machine} has no {op} in {dtype}")]
    NoSuchDtype {
        /// The machine.
        machine: String,
        /// The op.
        op: String,
        /// The dtype asked for.
        dtype: &'static str,
        /// The dtypes it has, joined.
        known: String,
    },
    /// Several element types are possible and none was given.
    #[error("which dtype? {machine} has {op} in {known}")]
    WhichDtype {
        /// The machine.
        machine: String,
        /// The op.
        op: String,
        /// The dtypes it has, joined.
        known: String,
        /// One of them.
        example: &'static str,
    },
    /// Nothing of the kind was measured on the machine.
    #[error("{machine} has no {op}")]
    NoSuchOp {
        /// The machine.
        machine: String,
        /// The op.
        op: String,
        /// What it has of the same family, joined; empty for nothing.
        known: String,
    },
    /// Not `name=value`.
    #[error("--set is `{0}`, not a name, `=` and a whole number")]
    NotAParameter(String),
    /// Not a size.
    #[error("--bytes: {0}")]
    NotASize(#[from] UnitError),
    /// Elements that no square has.
    #[error("{0} elements are no square")]
    NoSquare(u64),
    /// A forward pass updates nothing.
    #[error("--optimizer is for the backward direction; a forward pass updates nothing")]
    ForwardHasNoOptimizer,
    /// A point that cannot exist.
    #[error(transparent)]
    Point(#[from] PointError),
}

impl Diagnostic for QuestionError {
    fn hint(&self) -> Option<String> {
        match self {
            QuestionError::Unknown(name) => Some(name.hint()),
            QuestionError::UnknownDtype { nearest, machine, known, .. } => Some(match nearest {
                Some(nearest) => format!("did you mean `{nearest}`? {machine} has {known}"),
                None => format!("{machine} has {known}"),
            }),
            QuestionError::NoSuchDtype { machine, known, .. } => {
                Some(format!("{machine} has {known}"))
            }
            QuestionError::WhichDtype { example, .. } => Some(format!("add --dtype {example}")),
            QuestionError::NoSuchOp { known, .. } if known.is_empty() => Some(
                "`predict machines` lists what each machine has; of embedding bags and \
                 memory-bound ops also published figures say a time: --basis described --extrapolate"
                    .to_owned(),
            ),
            QuestionError::NoSuchOp { known, .. } => Some(format!("it has {known}")),
            QuestionError::NotAParameter(_) => Some("like this: --set batch=64".to_owned()),
            QuestionError::NotASize(_) => Some(
                "sizes look like 65536, 64K or 64KiB (1024 each) or 64KB (1000 each)".to_owned(),
            ),
            QuestionError::NoSquare(_) => {
                Some("ask by --rows, the number of squares, and --columns, their side".to_owned())
            }
            QuestionError::ForwardHasNoOptimizer => Some("add --direction backward".to_owned()),
            QuestionError::Point(_) => None,
        }
    }
}
