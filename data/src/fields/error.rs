//! What can be wrong with a field.

use std::borrow::Cow;

use thiserror::Error;

use crate::diagnostic::Diagnostic;
use crate::nearest::UnknownName;
use crate::point::PointError;
use crate::table::shorten;
use crate::units::UnitError;

/// A field that cannot be read. The caller adds the file and the line.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FieldError {
    /// A field without a neutral value is absent or empty.
    #[error("`{0}` is missing")]
    Missing(Cow<'static, str>),
    /// Not a whole number from 0 to 2^64 - 1.
    #[error("{column} is `{}`, not a whole number", shorten(value))]
    NotAnInteger {
        /// Name of the field.
        column: Cow<'static, str>,
        /// What it holds.
        value: String,
    },
    /// Not a number at all.
    #[error("{column} is `{}`, not a number", shorten(value))]
    NotANumber {
        /// Name of the field.
        column: Cow<'static, str>,
        /// What it holds.
        value: String,
    },
    /// Not `true` or `false`.
    #[error("{column} is `{}`, neither `true` nor `false`", shorten(value))]
    NotABool {
        /// Name of the field.
        column: Cow<'static, str>,
        /// What it holds.
        value: String,
    },
    /// A number that cannot be a time.
    #[error("{column}: {problem}")]
    NotATime {
        /// Name of the field.
        column: Cow<'static, str>,
        /// Why not.
        problem: UnitError,
    },
    /// A word outside its vocabulary.
    #[error("{column}: {name}")]
    Unknown {
        /// Name of the field.
        column: Cow<'static, str>,
        /// The word and its nearest neighbour.
        name: UnknownName,
    },
    /// Fields that are fine alone and impossible together.
    #[error("{0}")]
    Inconsistent(String),
    /// A point that cannot exist.
    #[error(transparent)]
    Point(#[from] PointError),
}

impl FieldError {
    /// The field the error is about, where it is about one.
    pub fn column(&self) -> Option<&str> {
        match self {
            FieldError::Missing(column)
            | FieldError::NotAnInteger { column, .. }
            | FieldError::NotANumber { column, .. }
            | FieldError::NotABool { column, .. }
            | FieldError::NotATime { column, .. }
            | FieldError::Unknown { column, .. } => Some(column),
            FieldError::Inconsistent(_) | FieldError::Point(_) => None,
        }
    }
}

impl Diagnostic for FieldError {
    fn hint(&self) -> Option<String> {
        match self {
            FieldError::NotAnInteger { value, .. } | FieldError::NotANumber { value, .. }
                if value.contains(',') =>
            {
                Some("use '.' as decimal sign and ',' as separator".to_owned())
            }
            FieldError::NotATime { problem: UnitError::NotPositive(_), .. } => {
                Some("a point without a time has a `status` and a `reason`".to_owned())
            }
            FieldError::Unknown { name, .. } => Some(name.hint()),
            _ => None,
        }
    }
}
