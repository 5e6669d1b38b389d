//! Mistakes on the command line, as clap finds them.

use kernelgauge_data::usage::Mistake;

use crate::error::UsageError;

/// The mistake that clap found.
pub fn mistake(error: &clap::Error) -> UsageError {
    let Mistake { message, hint } = Mistake::of(&error.render().to_string(), "calibrate");
    UsageError::mistake(message, hint)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use kernelgauge_data::Diagnostic as _;

    use super::*;
    use crate::args::Arguments;

    #[test]
    fn every_mistake_is_two_lines() {
        for (line, message, hint) in [
            (
                "calibrate --budgt 60s",
                "unexpected argument `--budgt` found",
                "a similar argument exists: `--budget`",
            ),
            (
                "calibrate --format xml",
                "invalid value `xml` for `--format <FORMAT>`",
                "possible values: table, json, markdown",
            ),
            (
                "calibrate --budget soon",
                "invalid value `soon` for `--budget <TIME>`: `soon` is not a time such as `60s`, \
                 `10m` or `1h30m`",
                "`calibrate --help` shows every command and option",
            ),
            (
                "calibrate fit",
                "the following required arguments were not provided: <DIR>",
                "`calibrate fit --help` shows every option",
            ),
        ] {
            let error = mistake(&Arguments::try_parse_from(line.split(' ')).unwrap_err());
            assert_eq!(error.to_string(), message, "{line}");
            assert_eq!(error.hint().as_deref(), Some(hint), "{line}");
        }
    }
}
