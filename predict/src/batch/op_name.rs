//! Which op a row is about: by a column `family` or `op`, or by the columns it has.
//!
//! A name that is none of ours may be that of an op of the machine's own; ours come first, and a
//! column `family` with `custom` asks for the other.

use kernelgauge_data::fields::Lookup;
use kernelgauge_data::nearest::{self, UnknownName};
use kernelgauge_data::{Collective, Family, MemoryOp};
use thiserror::Error;

/// An op by name: its family, and the field the name stands for where it says more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpName {
    /// The family.
    pub family: Family,
    /// `("op", "softmax")` or `("collective", "all_reduce")`; none where the name was a family.
    pub field: Option<(&'static str, &'static str)>,
}

/// What a row asks about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowOp<T> {
    /// An op of ours.
    Known(OpName),
    /// An op of the machine's own, by name.
    Custom(T),
}

/// The names of a machine's own ops.
pub trait OwnOps {
    /// Whether `name` is one.
    fn has(&self, name: &str) -> bool;
    /// All of them.
    fn names(&self) -> Vec<String>;
}

/// Why nobody can tell what a row asks.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum OpError {
    /// A name that is no op.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// No column tells.
    #[error("no column tells the op")]
    NotNamed,
}

impl OpError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            OpError::Unknown(name) => name.hint(),
            OpError::NotNamed => {
                "add a column `op`, or --op with the op of every row: gemm, all_reduce, softmax"
                    .to_owned()
            }
        }
    }
}

impl OpName {
    /// The op of a name: a family, a memory op or a collective, with `-` or `_`.
    ///
    /// # Errors
    /// The nearest name.
    pub fn parse(text: &str) -> Result<Self, UnknownName> {
        if let Some(name) = OpName::known(text) {
            return Ok(name);
        }
        let plain = text.replace('-', "_");
        // The spellings of other tools: `AllReduce`, `alltoall`.
        let collective = || plain.parse::<Collective>().ok();
        if let Some(name) = OpName::known(&plain).or_else(|| OpName::known(collective()?.name())) {
            return Ok(name);
        }
        let families = Family::ALL.map(Family::name).into_iter();
        let memory = MemoryOp::ALL.map(MemoryOp::name).into_iter();
        let collectives = Collective::ALL.map(Collective::name).into_iter();
        Err(nearest::unknown("op", text, families.chain(memory).chain(collectives)))
    }

    /// The op of a name, which may be one of `own`.
    ///
    /// # Errors
    /// The nearest name, of ours and of `own`.
    pub fn parse_among<'a>(text: &'a str, own: &dyn OwnOps) -> Result<RowOp<&'a str>, UnknownName> {
        match OpName::parse(text) {
            Ok(name) => Ok(RowOp::Known(name)),
            Err(_) if own.has(text) => Ok(RowOp::Custom(text)),
            Err(unknown) => {
                let known = unknown.known.into_iter().chain(own.names());
                Err(nearest::unknown("op", text, known))
            }
        }
    }

    /// The op of exactly this name. Allocates nothing, unlike the parsers with their errors.
    fn known(text: &str) -> Option<Self> {
        if let Some(family) = Family::ALL.into_iter().find(|family| family.name() == text) {
            return Some(OpName { family, field: None });
        }
        if let Some(op) = MemoryOp::ALL.into_iter().find(|op| op.name() == text) {
            return Some(OpName { family: Family::Memory, field: Some(("op", op.name())) });
        }
        let collective = Collective::ALL.into_iter().find(|each| each.name() == text)?;
        let field = Some(("collective", collective.name()));
        Some(OpName { family: Family::Collective, field })
    }

    /// The op of a row whose fields `get` finds.
    ///
    /// # Errors
    /// [`OpError`].
    pub fn of_row<'a>(get: Lookup<'_, 'a>, own: &dyn OwnOps) -> Result<RowOp<&'a str>, OpError> {
        let field = |name: &str| get(name).filter(|text| !text.is_empty());
        if let Some(family) = field("family") {
            let family = family.parse()?;
            return Ok(match (family, field("op")) {
                (Family::Collective, Some(op)) => RowOp::Known(OpName::parse(op)?),
                (Family::Custom, Some(op)) => RowOp::Custom(op),
                _ => RowOp::Known(OpName { family, field: None }),
            });
        }
        if let Some(op) = field("op") {
            return Ok(OpName::parse_among(op, own)?);
        }
        let family = inferred(&|name| field(name).is_some()).ok_or(OpError::NotNamed)?;
        Ok(RowOp::Known(OpName { family, field: None }))
    }
}

/// The family whose fields are there.
pub fn inferred(has: &dyn Fn(&str) -> bool) -> Option<Family> {
    const TELLING: [(&[&str], Family); 5] = [
        (&["m", "n", "k"], Family::Gemm),
        (&["collective"], Family::Collective),
        (&["phase"], Family::Attention),
        (&["tables", "pooling"], Family::Embedding),
        (&["direction", "bytes"], Family::Copy),
    ];
    TELLING.iter().find(|(names, _)| names.iter().all(|name| has(name))).map(|(_, family)| *family)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Own;

    impl OwnOps for Own {
        fn has(&self, name: &str) -> bool {
            matches!(name, "my_kernel" | "relu")
        }

        fn names(&self) -> Vec<String> {
            vec!["my_kernel".to_owned(), "relu".to_owned()]
        }
    }

    fn of(fields: &[(&str, &'static str)]) -> Result<RowOp<&'static str>, OpError> {
        let get = |name: &str| fields.iter().find(|(known, _)| *known == name).map(|(_, v)| *v);
        OpName::of_row(&get, &Own)
    }

    #[test]
    fn a_row_names_its_op_in_several_ways() {
        let known = |family, field| RowOp::Known(OpName { family, field });
        let all_reduce = known(Family::Collective, Some(("collective", "all_reduce")));
        let gemm = known(Family::Gemm, None);
        let softmax = known(Family::Memory, Some(("op", "softmax")));
        let relu = known(Family::Memory, Some(("op", "relu")));
        for (fields, expected) in [
            (vec![("op", "all-reduce")], all_reduce.clone()),
            (vec![("op", "AllReduce")], all_reduce.clone()),
            (vec![("family", "collective"), ("op", "all_reduce")], all_reduce),
            (vec![("op", "softmax")], softmax),
            (vec![("op", "gemm")], gemm.clone()),
            (vec![("op", ""), ("m", "1"), ("n", "1"), ("k", "1")], gemm.clone()),
            (vec![("family", "gemm"), ("op", "whatever")], gemm),
            (vec![("op", "my_kernel")], RowOp::Custom("my_kernel")),
            (vec![("family", "custom"), ("op", "other")], RowOp::Custom("other")),
            // Ours come first.
            (vec![("op", "relu")], relu),
            (vec![("family", "custom"), ("op", "relu")], RowOp::Custom("relu")),
        ] {
            assert_eq!(of(&fields), Ok(expected), "{fields:?}");
        }
    }

    #[test]
    fn a_name_that_is_no_op_gets_the_nearest() {
        let error = of(&[("op", "all_reduse")]).unwrap_err();
        assert!(error.hint().starts_with("did you mean `all_reduce`?"), "{}", error.hint());
        let error = of(&[("op", "my_kernle")]).unwrap_err();
        assert!(error.hint().starts_with("did you mean `my_kernel`?"), "{}", error.hint());
        assert_eq!(of(&[("m", "1"), ("n", "1")]), Err(OpError::NotNamed));
    }
}
