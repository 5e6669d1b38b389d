//! Unknown names and the nearest known one.

use thiserror::Error;

use crate::table::shorten;

/// A name that is not in a known set.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("unknown {kind} `{}`", shorten(name))]
pub struct UnknownName {
    /// What was expected: `dtype`, `machine`, `collective`.
    pub kind: &'static str,
    /// What was given.
    pub name: String,
    /// The nearest known name, if one is near.
    pub nearest: Option<String>,
    /// Every known name.
    pub known: Vec<String>,
}

impl UnknownName {
    /// `did you mean ...? known: ...`
    pub fn hint(&self) -> String {
        let known = self.known.join(", ");
        match &self.nearest {
            Some(name) => format!("did you mean `{name}`? known: {known}"),
            None => format!("known: {known}"),
        }
    }
}

/// The error for `name`, with the nearest of `known` by Damerau-Levenshtein similarity.
pub fn unknown<S: AsRef<str>>(
    kind: &'static str,
    name: &str,
    known: impl IntoIterator<Item = S>,
) -> UnknownName {
    let known: Vec<String> = known.into_iter().map(|k| k.as_ref().to_owned()).collect();
    UnknownName { kind, name: name.to_owned(), nearest: nearest(name, &known), known }
}

/// The most similar of `known`, if it is similar enough to be a slip of the finger.
fn nearest(name: &str, known: &[String]) -> Option<String> {
    /// Below this a suggestion puzzles more than it helps.
    const SIMILAR_ENOUGH: f64 = 0.5;
    /// The search takes as long as the name times the known one, and no known name is longer.
    const LONGEST: usize = 256;
    if name.len() > LONGEST {
        return None;
    }
    let lower = name.to_lowercase();
    let score = |candidate: &str| {
        if !lower.is_empty() && candidate.starts_with(&lower) {
            return 1.0;
        }
        strsim::normalized_damerau_levenshtein(&lower, candidate)
    };
    known
        .iter()
        .map(|candidate| (score(&candidate.to_lowercase()), candidate))
        .filter(|(similarity, _)| *similarity >= SIMILAR_ENOUGH)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate.clone())
}
