//! The commands: what each flag combination does, in the order it happens.

pub mod compare;
pub mod doctor;
pub mod evaluate;
pub mod fit;
pub mod import;
pub mod measure;
pub mod thin;
mod traced;

use std::io::Write;
use std::time::Instant;

use kernelgauge_data::nearest;
use kernelgauge_data::{BuildInfo, Family};

use crate::error::UsageError;

/// What every command is given beside its arguments.
pub struct Surroundings<'a> {
    /// For data.
    pub stdout: &'a mut dyn Write,
    /// For everything else.
    pub stderr: &'a mut dyn Write,
    /// Version and revision.
    pub build: &'a BuildInfo,
    /// When the command began.
    pub began: Instant,
}

impl Surroundings<'_> {
    /// A line on standard error; one that is gone is no reason to stop.
    pub fn say(&mut self, line: &str) {
        let _ = writeln!(self.stderr, "{line}");
    }

    /// A warning, with what to do about it.
    pub fn warn(&mut self, what: &str, hint: Option<&str>) {
        self.say(&format!("warning: {what}"));
        if let Some(hint) = hint {
            self.say(&format!("hint: {hint}"));
        }
    }

    /// Version and git revision, for what is written to files.
    pub fn tool_version(&self) -> String {
        format!("{} (git {})", self.build.version, self.build.git)
    }
}

/// The families named by `--ops`, in report order; all of `known` when none is named.
///
/// # Errors
/// A name that is no family, or one that is not among `known`.
pub fn families(names: &[String], known: &[Family]) -> Result<Vec<Family>, UsageError> {
    let mut chosen = Vec::new();
    for name in names.iter().map(|name| name.trim()) {
        let Some(family) = known.iter().find(|family| family.name() == name) else {
            return Err(match name.parse::<Family>() {
                Ok(family) => lacking(family, known),
                Err(_) => {
                    nearest::unknown("op family", name, known.iter().map(|f| f.name())).into()
                }
            });
        };
        chosen.push(*family);
    }
    if chosen.is_empty() {
        chosen = known.to_vec();
    }
    chosen.sort_unstable();
    chosen.dedup();
    Ok(chosen)
}

/// A family that there is, but not here.
fn lacking(family: Family, known: &[Family]) -> UsageError {
    let names: Vec<&str> = known.iter().map(|family| family.name()).collect();
    UsageError::mistake(
        format!("there is no {family} here"),
        match names.as_slice() {
            [] => "there is nothing at all".to_owned(),
            names => format!("there is {}", names.join(", ")),
        },
    )
}

#[cfg(test)]
mod tests {
    use kernelgauge_data::Diagnostic as _;

    use super::*;

    #[test]
    fn families_are_chosen_by_name() {
        let known = [Family::Gemm, Family::Copy];
        let named = |names: &[&str]| {
            families(&names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>(), &known)
        };
        assert_eq!(named(&[]).unwrap(), known);
        assert_eq!(named(&["copy", "gemm", "copy"]).unwrap(), known);
        let error = named(&["gem"]).unwrap_err();
        assert_eq!(error.to_string(), "unknown op family `gem`");
        assert_eq!(error.hint().unwrap(), "did you mean `gemm`? known: gemm, copy");
        let error = named(&["attention"]).unwrap_err();
        assert_eq!(error.to_string(), "there is no attention here");
        assert_eq!(error.hint().unwrap(), "there is gemm, copy");
    }
}
