//! What a person should know beside the answer, on standard error.

use std::io::{self, Write};

use kernelgauge_data::{Collective, Dtype, Origin};

use crate::predictor::Predictor;
use crate::terminal::harmless;

/// One line that begins with `warning:`.
///
/// # Errors
/// What the writer says.
pub fn warn(stderr: &mut dyn Write, text: &str) -> io::Result<()> {
    writeln!(stderr, "warning: {}", harmless(text))
}

/// One line that begins with `note:`.
///
/// # Errors
/// What the writer says.
pub fn note(stderr: &mut dyn Write, text: &str) -> io::Result<()> {
    writeln!(stderr, "note: {}", harmless(text))
}

/// Columns or members of a batch that no answer depends on; nothing where there are none.
///
/// # Errors
/// What the writer says.
pub fn not_read(stderr: &mut dyn Write, names: &[&str]) -> io::Result<()> {
    /// Names that are told; a table of a hundred notes is its owner's affair.
    const TOLD: usize = 12;
    let told: Vec<String> = names.iter().take(TOLD).map(|name| format!("`{name}`")).collect();
    let more = match names.len().saturating_sub(TOLD) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    match told.len() {
        0 => Ok(()),
        1 => note(stderr, &format!("column {} was not read", told[0])),
        _ => note(stderr, &format!("columns {}{more} were not read", told.join(", "))),
    }
}

/// What is to be known of the model that answered.
///
/// # Errors
/// What the writer says.
pub fn of_model(stderr: &mut dyn Write, predictor: &Predictor) -> io::Result<()> {
    let name = &predictor.machine().name;
    if predictor.model().origin() == Origin::Synthetic {
        synthetic(stderr, name)?;
    }
    let lenders = predictor.model().lenders();
    if !lenders.is_empty() {
        let names: Vec<&str> = lenders.iter().map(|lender| lender.machine.as_str()).collect();
        note(stderr, &format!("{name} borrows from {}", names.join(", ")))?;
    }
    match predictor.outdated_by() {
        None => Ok(()),
        Some(folder) => warn(
            stderr,
            &format!(
                "the model of {name} was fitted on other measurements than are beside it; \
                 `calibrate fit {}` fits it anew",
                folder.display()
            ),
        ),
    }
}

/// The model's data are made up.
///
/// # Errors
/// What the writer says.
fn synthetic(stderr: &mut dyn Write, machine: &str) -> io::Result<()> {
    warn(stderr, &format!("{machine} was fitted to synthetic data; its times mean nothing"))
}

/// Another dtype answered, for all of `rows` where the question was a batch.
///
/// # Errors
/// What the writer says.
pub fn stood_in(
    stderr: &mut dyn Write,
    collective: Collective,
    asked: Dtype,
    used: Dtype,
    rows: Option<u64>,
) -> io::Result<()> {
    let op = collective.name().replace('_', "-");
    let rows = rows.map(|rows| format!(" ({rows} rows)")).unwrap_or_default();
    note(
        stderr,
        &format!("{op} was not measured in {asked}; {used} answers for it at the same bytes{rows}"),
    )
}
