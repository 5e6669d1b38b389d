//! What a person should know beside the answer, on standard error.

use std::io::{self, Write};

use kernelgauge_data::{Collective, Dtype};

/// One line that begins with `warning:`.
///
/// # Errors
/// What the writer says.
pub fn warn(stderr: &mut dyn Write, text: &str) -> io::Result<()> {
    writeln!(stderr, "warning: {text}")
}

/// The model's data are made up.
///
/// # Errors
/// What the writer says.
pub fn synthetic(stderr: &mut dyn Write, machine: &str) -> io::Result<()> {
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
    writeln!(
        stderr,
        "note: {op} was not measured in {asked}; {used} answers for it at the same bytes{rows}"
    )
}
