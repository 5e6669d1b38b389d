//! Column names as people write them: which quantity, in which unit.

use crate::table::shorten;

pub(super) use crate::import::selection::normalise;

/// Nanoseconds in the unit that a normalised name ends with, and the name before it.
pub(super) fn time_unit(name: &str) -> Option<(&str, f64)> {
    let (stem, unit) = name.rsplit_once('_').unwrap_or(("", name));
    let nanos = match unit {
        "ns" | "nsec" | "nanoseconds" | "nanos" => 1.0,
        "us" | "usec" | "usecs" | "microseconds" | "micros" => 1e3,
        "ms" | "msec" | "msecs" | "milliseconds" | "millis" => 1e6,
        "s" | "sec" | "secs" | "seconds" => 1e9,
        _ => return None,
    };
    Some((stem, nanos))
}

/// Whether a normalised name, without its unit, speaks of a duration.
pub(super) fn is_duration(stem: &str) -> bool {
    const WORDS: [&str; 8] =
        ["time", "latency", "duration", "elapsed", "runtime", "lat", "walltime", "t"];
    stem.split('_').any(|word| WORDS.contains(&word))
        || matches!(statistic(stem), Statistic::Median | Statistic::Mean)
}

/// Whether a duration was taken by the host's clock.
pub(super) fn is_host(stem: &str) -> bool {
    stem.split('_').any(|word| matches!(word, "cpu" | "host" | "wall" | "walltime"))
}

/// Which statistic of the samples a duration is; lower is a better representative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Statistic {
    Plain,
    Median,
    Mean,
    /// Of no use as the time of a point.
    Other,
}

/// The statistic a normalised duration name states.
pub(super) fn statistic(stem: &str) -> Statistic {
    let of = |word: &str| match word {
        "median" | "med" | "p50" => Statistic::Median,
        "mean" | "avg" | "average" => Statistic::Mean,
        "min" | "max" | "std" | "stdev" | "stddev" | "noise" | "total" | "setup" | "warmup"
        | "best" | "worst" => Statistic::Other,
        _ if word.starts_with('p') && word[1..].parse::<u8>().is_ok() => Statistic::Other,
        _ if word.starts_with('q') && word[1..].parse::<u8>().is_ok() => Statistic::Other,
        _ => Statistic::Plain,
    };
    stem.split('_').map(of).max().unwrap_or(Statistic::Plain)
}

/// The ends of the samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extreme {
    Fastest,
    Slowest,
}

/// The extreme a normalised duration name states, if that is its only statistic.
pub(super) fn extreme(stem: &str) -> Option<Extreme> {
    let of = |word: &str| match word {
        "min" | "best" => Some(Extreme::Fastest),
        "max" | "worst" => Some(Extreme::Slowest),
        _ => None,
    };
    let mut statistics = stem.split('_').filter(|word| statistic(word) != Statistic::Plain);
    let first = statistics.next()?;
    if statistics.next().is_some() { None } else { of(first) }
}

/// What a normalised duration name measures, without its statistic: nothing more than the time
/// of the point for `time`, `latency_avg` and `min`, the rest of the name for `gpu_time`.
/// `elapsed` and `duration` stay: they may be those of the whole run.
pub(super) fn quantity(stem: &str) -> String {
    let says_more = |word: &&str| {
        statistic(word) == Statistic::Plain
            && !matches!(*word, "" | "time" | "latency" | "lat" | "t")
    };
    stem.split('_').filter(says_more).collect::<Vec<_>>().join("_")
}

/// A word for file names, variants and columns: letters, digits, `_` and `-`, at most forty.
pub(super) fn word(text: &str) -> String {
    let plain: String = shorten(text)
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c.to_ascii_lowercase() } else { '_' })
        .take(40)
        .collect();
    plain.trim_matches('_').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_their_dress() {
        for (written, plain) in [
            ("Time (us)", "time_us"),
            (" latency[ms] ", "latency_ms"),
            ("GPU Time (sec)", "gpu_time_sec"),
            ("M", "m"),
            ("total-size (B)", "total_size_b"),
            ("t [µs]", "t_us"),
        ] {
            assert_eq!(normalise(written), plain);
        }
    }

    #[test]
    fn durations_have_a_unit_and_a_statistic() {
        assert_eq!(time_unit("gpu_time_s"), Some(("gpu_time", 1e9)));
        assert_eq!(time_unit("latency"), None);
        assert!(is_duration("gpu_time") && !is_duration("tables"));
        assert_eq!(statistic("time"), Statistic::Plain);
        assert_eq!(statistic("time_p90"), Statistic::Other);
        assert_eq!(statistic("latency_avg"), Statistic::Mean);
        assert_eq!(statistic("time_p50"), Statistic::Median);
    }

    #[test]
    fn durations_say_what_they_measure() {
        for (stem, expected) in [
            ("time", ""),
            ("latency_avg", ""),
            ("min", ""),
            ("gpu_time", "gpu"),
            ("cpu_time_min", "cpu"),
            ("elapsed", "elapsed"),
        ] {
            assert_eq!(quantity(stem), expected, "{stem}");
        }
        assert_eq!(extreme("time_min"), Some(Extreme::Fastest));
        assert_eq!(extreme("worst"), Some(Extreme::Slowest));
        for other in ["time", "time_p99", "min_std", "median"] {
            assert_eq!(extreme(other), None, "{other}");
        }
    }
}
