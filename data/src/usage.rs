//! Command-line errors in the words and the look of all others: one line of what is wrong, one
//! of what to do.
//!
//! The findings are the argument parser's; this module only rearranges the text it renders, so
//! that both commands complain alike. It knows no parser.

/// What is wrong with a command line, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

impl Mistake {
    /// The mistake that `text`, as clap renders it, is about; `command` is the name of the
    /// program, whose help is the remedy when nothing better is said.
    pub fn of(text: &str, command: &str) -> Self {
        let (head, rest) = text.split_once("\n\n").unwrap_or((text, ""));
        let (values, message): (Vec<&str>, Vec<&str>) =
            head.lines().map(str::trim).partition(|line| line.starts_with("[possible values"));
        let message = match message.split_first() {
            Some((first, [])) => (*first).to_owned(),
            Some((first, more)) => format!("{first} {}", more.join(", ")),
            None => head.to_owned(),
        };
        let hint = tip(rest)
            .or_else(|| values.first().map(|line| line.trim_matches(['[', ']']).to_owned()))
            .or_else(|| help_of(rest))
            .unwrap_or_else(|| format!("`{command} --help` shows every command and option"));
        let message = message.trim_start_matches("error: ").replace('\'', "`");
        Mistake { message, hint }
    }
}

/// The parser's suggestions, without the one that explains `--`.
fn tip(text: &str) -> Option<String> {
    let tips: Vec<String> = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("tip: "))
        .filter(|tip| !tip.starts_with("to pass"))
        .map(|tip| tip.replace('\'', "`"))
        .collect();
    (!tips.is_empty()).then(|| tips.join("; "))
}

/// Points at the help of the command that the usage line names.
fn help_of(text: &str) -> Option<String> {
    let usage = text.lines().find_map(|line| line.strip_prefix("Usage: "))?;
    let command: Vec<&str> = usage
        .split(' ')
        .take_while(|word| {
            word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-' && word.len() > 2)
        })
        .filter(|word| !word.starts_with('-'))
        .collect();
    Some(format!("`{} --help` shows every option", command.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_lines_are_made_of_many() {
        let mistake = |text| {
            let Mistake { message, hint } = Mistake::of(text, "predict");
            (message, hint)
        };
        assert_eq!(
            mistake("error: unexpected argument '--x' found\n\n  tip: try '--y'\n\nUsage: a b"),
            ("unexpected argument `--x` found".to_owned(), "try `--y`".to_owned())
        );
        assert_eq!(
            mistake("error: bad 'v'\n  [possible values: a, b]\n\nFor more, try '--help'."),
            ("bad `v`".to_owned(), "possible values: a, b".to_owned())
        );
        assert_eq!(
            mistake("error: missing:\n  -n <N>\n  -k <K>\n\nUsage: predict gemm --m <M>"),
            (
                "missing: -n <N>, -k <K>".to_owned(),
                "`predict gemm --help` shows every option".to_owned()
            )
        );
        assert_eq!(mistake("error: no").1, "`predict --help` shows every command and option");
    }
}
