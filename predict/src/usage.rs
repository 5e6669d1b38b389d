//! Command-line errors in the words and the look of all others: one line of what is wrong, one
//! of what to do.
//!
//! The findings are clap's; `kernelgauge_data::usage` rearranges its text. The nearest command
//! is looked for here, since clap's measure of likeness takes `relu` for a slip of `all-reduse`.

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue};
use kernelgauge_data::nearest;
use kernelgauge_data::usage::Mistake;

use crate::args::Arguments;

/// What clap has to say: something that was asked for, or a mistake.
#[derive(Debug)]
pub enum Usage {
    /// Help, for standard output.
    Help(String),
    /// A mistake on the command line.
    Mistake {
        /// What is wrong.
        message: String,
        /// What to do about it.
        hint: String,
    },
}

impl From<clap::Error> for Usage {
    fn from(error: clap::Error) -> Self {
        let text = error.render().to_string();
        if !error.use_stderr() {
            return Usage::Help(text);
        }
        let Mistake { message, hint } = Mistake::of(&text, "predict");
        let hint = nearest_command(&error).unwrap_or(hint);
        Usage::Mistake { message, hint }
    }
}

/// The command that was probably meant, where an unknown one was given.
fn nearest_command(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let arguments = Arguments::command();
    let known = arguments.get_subcommands().map(clap::Command::get_name);
    Some(match nearest::unknown("command", given, known).nearest {
        Some(name) => format!("did you mean `{name}`? `predict --help` lists every command"),
        None => "`predict --help` lists every command".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::Arguments;

    fn check(line: &str, expected_message: &str, expected_hint: &str) {
        let error = Arguments::try_parse_from(line.split_whitespace()).unwrap_err();
        let Usage::Mistake { message, hint } = Usage::from(error) else {
            panic!("`{line}` is no mistake");
        };
        assert_eq!((message.as_str(), hint.as_str()), (expected_message, expected_hint), "{line}");
    }

    #[test]
    fn every_mistake_is_two_lines() {
        check(
            "predict all-reduse --ranks 8",
            "unrecognized subcommand `all-reduse`",
            "did you mean `all-reduce`? `predict --help` lists every command",
        );
        check(
            "predict gemm -m 1 -n 1 -k 1 --formt json",
            "unexpected argument `--formt` found",
            "a similar argument exists: `--format`",
        );
        check(
            "predict gemm -m 1 -n 1 -k 1 --format xml",
            "invalid value `xml` for `--format <FORMAT>`",
            "possible values: table, json, csv",
        );
        check(
            "predict gemm -m 1",
            "the following required arguments were not provided: -n <N>, -k <K>",
            "`predict gemm --help` shows every option",
        );
        check(
            "predict gemm -m -1 -n 1 -k 1",
            "invalid value `-1` for `-m <M>`: not a whole number from 1 to 18446744073709551615",
            "`predict --help` shows every command and option",
        );
    }

    #[test]
    fn help_is_no_mistake() {
        let error = Arguments::try_parse_from(["predict", "--help"]).unwrap_err();
        assert!(matches!(Usage::from(error), Usage::Help(text) if text.contains("gemm")));
    }
}
