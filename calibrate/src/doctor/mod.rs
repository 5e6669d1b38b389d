//! What is here, what is missing, what that costs, and what to do about it.
//!
//! Each check looks at one thing and changes nothing. A warning means that measurements are
//! possible but worse, or that a kind of them is not; a failure means that nothing can be
//! measured or written.

mod disk;
mod gpu;
mod processor;

use std::path::Path;

use kernelgauge_data::ExitStatus;
use serde::Serialize;

/// How serious a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// As it should be.
    Ok,
    /// Measurements are possible but worse, or a kind of them is not.
    Warn,
    /// Nothing can be measured or written.
    Fail,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was looked at.
    pub check: &'static str,
    /// How serious it is.
    pub severity: Severity,
    /// What was found, and what that costs.
    pub found: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl Finding {
    /// As it should be.
    fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Finding { check, severity: Severity::Ok, found: found.into(), remedy: None }
    }

    /// Possible but worse.
    fn warn(check: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        let (severity, remedy) = (Severity::Warn, Some(remedy.into()));
        Finding { check, severity, found: found.into(), remedy }
    }

    /// Not possible.
    fn fail(check: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Finding { severity: Severity::Fail, ..Finding::warn(check, found, remedy) }
    }
}

/// Looks at everything; measurements would be written to `out`.
pub fn examine(out: &Path) -> Vec<Finding> {
    [processor::findings(), vec![disk::finding(out)], gpu::findings()].concat()
}

/// The findings for people.
pub fn text(findings: &[Finding]) -> String {
    let mut text = String::new();
    for Finding { check, severity, found, remedy } in findings {
        let word = match severity {
            Severity::Ok => "ok",
            Severity::Warn => "warn",
            Severity::Fail => "fail",
        };
        text.push_str(&format!("{word:<6} {check:<12} {found}\n"));
        if let Some(remedy) = remedy {
            text.push_str(&format!("{:<19} hint: {remedy}\n", ""));
        }
    }
    text
}

/// The exit status follows from the findings and from nothing else.
pub fn exit_status(findings: &[Finding], strict: bool) -> ExitStatus {
    let worst = findings.iter().map(|finding| finding.severity).max();
    match worst {
        Some(Severity::Fail) => ExitStatus::Environment,
        Some(Severity::Warn) if strict => ExitStatus::Environment,
        _ => ExitStatus::Success,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_derives_from_the_findings() {
        let warned = [Finding::ok("a", "fine"), Finding::warn("b", "slow", "wait")];
        assert_eq!(exit_status(&warned[..1], true), ExitStatus::Success);
        assert_eq!(exit_status(&warned, false), ExitStatus::Success);
        assert_eq!(exit_status(&warned, true), ExitStatus::Environment);
        let failed = [Finding::fail("c", "no disk", "buy one")];
        assert_eq!(exit_status(&failed, false), ExitStatus::Environment);
        assert_eq!(
            text(&warned),
            "ok     a            fine\nwarn   b            slow\n                    hint: wait\n"
        );
    }

    #[test]
    fn every_check_of_this_machine_has_a_remedy_unless_all_is_well() {
        let findings = examine(&std::env::temp_dir());
        for finding in &findings {
            assert_eq!(finding.severity == Severity::Ok, finding.remedy.is_none(), "{finding:?}");
        }
        for check in ["processor", "memory", "timer", "load", "disk", "libcuda"] {
            assert!(findings.iter().any(|finding| finding.check == check), "{check}");
        }
    }
}
