//! Which rank a file is of, by its name.

use crate::recording::{RankSource, StatedRank};

/// Numbers beyond this are times, processes or jobs, not ranks.
const LARGEST_RANK: u32 = 99_999;

/// The rank a file is of, by its name or that of its folder; none if they do not say.
pub(super) fn rank(source_name: &str) -> Option<StatedRank> {
    let mut parts = source_name.rsplit(['/', '\\', ':']);
    let file = parts.next().unwrap_or_default().to_ascii_lowercase();
    let folder = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
    let rank = behind_word(&file, "rank")
        .or_else(|| behind_word(&file, "worker"))
        .or_else(|| at_end(&file))
        .or_else(|| behind_word(&folder, "rank"))?;
    Some(StatedRank { rank, by: RankSource::Name })
}

/// The number behind a word: `rank3`, `rank-3`, `rank_03`.
fn behind_word(name: &str, word: &str) -> Option<u32> {
    name.match_indices(word).find_map(|(place, word)| {
        let behind = name.get(place + word.len()..)?;
        number(leading_digits(behind.strip_prefix(['-', '_', '.', '=']).unwrap_or(behind)))
    })
}

/// The number at the end of a name: `trace_0.json`, `chakra.0.et`; not that of a version
/// (`1.0.3`), a step or a time, and not of names as PyTorch gives them, whose numbers are
/// processes and times.
fn at_end(name: &str) -> Option<u32> {
    let stem = stem(name);
    if stem.len() < name.len() && name.contains(".pt.trace") {
        return None;
    }
    let before = stem.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let digits = stem.get(before.len()..)?;
    let word = before.strip_suffix(['_', '-', '.'])?;
    let is_version = before.ends_with('.') && word.ends_with(|last: char| last.is_ascii_digit());
    let counts_other =
        ["step", "iter", "iteration", "epoch", "v", "version", "batch", "gpus"].iter().any(
            |other| word.rsplit(|letter: char| !letter.is_ascii_alphabetic()).next() == Some(other),
        );
    if is_version || counts_other { None } else { number(digits) }
}

/// A name without the endings that say what kind of file it is.
fn stem(name: &str) -> &str {
    let mut stem = name;
    while let Some(shorter) = [".gz", ".json", ".et", ".trace", ".pt", ".tar", ".tgz"]
        .iter()
        .find_map(|ending| stem.strip_suffix(ending))
    {
        stem = shorter;
    }
    stem
}

/// The digits a text begins with.
fn leading_digits(text: &str) -> &str {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

/// A number that may be a rank.
fn number(digits: &str) -> Option<u32> {
    digits.parse().ok().filter(|number| *number <= LARGEST_RANK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_ranks_in_many_ways() {
        for (name, expected) in [
            ("traces/rank-3.Apr_03_18_51_38.1102.pt.trace.json.gz", Some(3)),
            ("trace_8_rank_1.json", Some(1)),
            ("Rank07.json", Some(7)),
            ("worker5_step_12.1694128201549.pt.trace.json.gz", Some(5)),
            ("dlrm_eg_6.json.gz", Some(6)),
            ("chakra.0.et", Some(0)),
            ("chakra.12.et.gz", Some(12)),
            ("all.tar.gz: jsonData/chakra.2.json", Some(2)),
            ("job/rank2/trace.json", Some(2)),
            ("resnet_1gpu_et_1.0.3.json.gz", None),
            ("1.0.2-chakra.0.0.4.json", None),
            ("resnet50_num_workers_w0_1623143089861.pt.trace.json.gz", None),
            ("host_4711.1694128201549.pt.trace.json", None),
            ("google_owlv2-large-patch14-ensemble__1016001.json.gz", None),
            ("profiler_vgg13-iter41.json", None),
            ("trace_step_5.json", None),
            ("frank.json", None),
            ("rank.json", None),
            ("rank-99999999999999999999.json", None),
            ("", None),
        ] {
            assert_eq!(rank(name).map(|stated| stated.rank), expected, "{name}");
        }
    }
}
