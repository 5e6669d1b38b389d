//! The model file: one JSON document, the same to the byte for the same data and seed.
//!
//! The header says what the model speaks for; each variant's part is kept as text until a
//! question needs it, so that one answer does not wait for the rest. [`text`] holds the layout,
//! [`points`] that of the measured points, [`read`] the checks. Nothing is allocated from a declared length, nothing is believed: sizes
//! before parsing, ranges, signs and indices after.

mod error;
mod points;
mod read;
mod text;
mod write;

pub use error::StoreError;
pub(crate) use read::read_section;

use crate::model::Model;

/// What the file says it is.
pub(crate) const FORMAT: &str = "kernelgauge-model";

/// The layout this tool writes and reads.
pub(crate) const FORMAT_VERSION: u64 = 2;

/// Largest model file that is read.
pub(crate) const MOST_BYTES: usize = 256 << 20;

impl Model {
    /// The model as text.
    pub fn to_text(&self) -> String {
        write::write(self)
    }

    /// Reads a model and checks every part of it.
    ///
    /// # Errors
    /// What is foreign, newer or damaged.
    pub fn from_text(text: &str) -> Result<Model, StoreError> {
        let model = read::open(text)?;
        for section in &model.sections {
            section.get()?;
        }
        Ok(model)
    }

    /// As [`Model::from_text`], but a variant's part is read and checked only when a question
    /// needs it: for files that were checked before, such as those shipped with the tool.
    ///
    /// # Errors
    /// What is foreign, newer or damaged in the header.
    pub fn open(text: &str) -> Result<Model, StoreError> {
        read::open(text)
    }
}

#[cfg(test)]
mod tests;
