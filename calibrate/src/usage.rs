//! Command-line errors in the look of all others: one line of what is wrong, one of what to do.
//!
//! The findings are clap's; this module only rearranges its text.

use crate::error::UsageError;

/// The mistake that clap found.
pub fn mistake(error: &clap::Error) -> UsageError {
    let text = error.render().to_string();
    let (head, rest) = text.split_once("\n\n").unwrap_or((&text, ""));
    let values = head.lines().map(str::trim).find(|line| line.starts_with("[possible values"));
    let message: Vec<&str> =
        head.lines().map(str::trim).filter(|line| !line.starts_with("[possible values")).collect();
    let message = message.join(" ").trim_start_matches("error: ").replace('\'', "`");
    let tip = rest
        .lines()
        .filter_map(|line| line.trim().strip_prefix("tip: "))
        .find(|tip| !tip.starts_with("to pass"))
        .map(|tip| tip.replace('\'', "`"));
    let hint = tip
        .or_else(|| values.map(|line| line.trim_matches(['[', ']']).to_owned()))
        .unwrap_or_else(|| "`calibrate --help` shows every option".to_owned());
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
                "`calibrate --help` shows every option",
            ),
            (
                "calibrate fit",
                "the following required arguments were not provided: <DIR>",
                "`calibrate --help` shows every option",
            ),
        ] {
            let error = mistake(&Arguments::try_parse_from(line.split(' ')).unwrap_err());
            assert_eq!(error.to_string(), message, "{line}");
            assert_eq!(error.hint().as_deref(), Some(hint), "{line}");
        }
    }
}
