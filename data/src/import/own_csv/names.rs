//! Column names as people write them: which quantity, in which unit.

use crate::table::shorten;

/// A column name in lower case with single `_` in place of blanks, brackets and dashes:
/// `Time (us)` and `time[us]` are `time_us`.
pub(super) fn normalise(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    for c in name.trim().chars() {
        match c {
            ')' | ']' | '}' => {}
            ' ' | '-' | '(' | '[' | '{' | '_' | '.' | ':' => {
                if !plain.is_empty() && !plain.ends_with('_') {
                    plain.push('_');
                }
            }
            'µ' | 'μ' => plain.push('u'),
            c => plain.extend(c.to_lowercase()),
        }
    }
    plain.trim_end_matches('_').to_owned()
}

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

/// What a rate column counts per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Rate {
    /// Bytes, in the given number of bytes; `bus` for nccl-tests' bus bandwidth.
    Bytes {
        /// Bytes in one unit.
        unit: f64,
        /// Bus bandwidth rather than algorithm bandwidth.
        bus: bool,
    },
    /// Arithmetic, in the given number of operations.
    Flops {
        /// Operations in one unit.
        unit: f64,
    },
}

/// The rate a column states, by the end of its name: `bw_MBps`, `GB/s`, `algbw (GiB/s)`,
/// `tflops`. The name is taken as written, because `b` is a bit and `B` a byte.
pub(super) fn rate(name: &str) -> Option<Rate> {
    let trimmed = name.trim().trim_end_matches([')', ']']);
    // nccl-tests and rccl-tests count these two in decimal GB/s and do not say so in CSV.
    if let lower @ ("algbw" | "busbw") = trimmed.to_lowercase().as_str() {
        return Some(Rate::Bytes { unit: 1e9, bus: lower == "busbw" });
    }
    let start = trimmed.rfind([' ', '_', '(', '[', '-']).map_or(0, |at| at + 1);
    // `MB_s` and `tflop_s` carry the unit in their last two words.
    let start = match &trimmed[start..] {
        "s" if start > 0 => {
            trimmed[..start - 1].rfind([' ', '_', '(', '[', '-']).map_or(0, |at| at + 1)
        }
        _ => start,
    };
    let unit = &trimmed[start..];
    if let Some(unit) = flops_unit(&unit.to_lowercase()) {
        return Some(Rate::Flops { unit });
    }
    let amount = ["/sec", "/s", "_s", "ps"].into_iter().find_map(|end| unit.strip_suffix(end))?;
    let bus = trimmed.to_lowercase().contains("bus");
    byte_unit(amount).map(|unit| Rate::Bytes { unit, bus })
}

fn flops_unit(unit: &str) -> Option<f64> {
    match unit {
        "flops" | "flop/s" | "flop_s" => Some(1.0),
        "gflops" | "gflop/s" | "gflop_s" => Some(1e9),
        "tflops" | "tflop/s" | "tflop_s" => Some(1e12),
        "pflops" | "pflop/s" | "pflop_s" => Some(1e15),
        _ => None,
    }
}

/// Bytes in `MB` (decimal), `MiB` (binary) or `Mb` (bits).
fn byte_unit(amount: &str) -> Option<f64> {
    let (prefix, bytes) = match amount {
        _ if amount.ends_with("bit") => (amount.strip_suffix("bit")?, 0.125),
        _ if amount.ends_with('B') => (amount.strip_suffix('B')?, 1.0),
        _ if amount.ends_with('b') => (amount.strip_suffix('b')?, 0.125),
        _ => return None,
    };
    let scale = match prefix {
        "" => 1.0,
        "k" | "K" => 1e3,
        "m" | "M" => 1e6,
        "g" | "G" => 1e9,
        "t" | "T" => 1e12,
        "Ki" | "ki" => 1024.0,
        "Mi" | "mi" => 1024.0 * 1024.0,
        "Gi" | "gi" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    Some(scale * bytes)
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
    fn rates_tell_bits_bytes_and_binary_units_apart() {
        let bytes = |unit| Some(Rate::Bytes { unit, bus: false });
        assert_eq!(rate("bw_MBps"), bytes(1e6));
        assert_eq!(rate("GB/s"), bytes(1e9));
        assert_eq!(rate("bandwidth (GiB/s)"), bytes(1_073_741_824.0));
        assert_eq!(rate("bw_MB_s"), bytes(1e6));
        assert_eq!(rate("throughput_Gbps"), bytes(0.125e9));
        assert_eq!(rate("busbw_GB/s"), Some(Rate::Bytes { unit: 1e9, bus: true }));
        assert_eq!(rate("busBw"), Some(Rate::Bytes { unit: 1e9, bus: true }));
        assert_eq!(rate("TFLOPS"), Some(Rate::Flops { unit: 1e12 }));
        assert_eq!(rate("tflop_s"), Some(Rate::Flops { unit: 1e12 }));
        for other in ["time_s", "steps", "maps", "s", "m", "", "batch"] {
            assert_eq!(rate(other), None, "{other}");
        }
    }
}
