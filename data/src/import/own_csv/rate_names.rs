//! Columns of rates by name: which amount they count per second, in which unit.

/// What a rate column counts per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Rate {
    /// Bytes, in the given number of bytes; `bus` for nccl-tests' bus bandwidth.
    Bytes {
        /// Bytes in one unit.
        unit: f64,
        /// Bus bandwidth rather than algorithm bandwidth.
        bus: bool,
        /// Whether it may as well count bits: `gbps` in one case stands for both.
        or_bits: bool,
    },
    /// Arithmetic, in the given number of operations.
    Flops {
        /// Operations in one unit.
        unit: f64,
    },
}

/// The rate a column states, by the end of its name: `bw_MBps`, `GB/s`, `algbw (GiB/s)`,
/// `bw_gbs`, `tflops`. In a name of mixed case `b` is a bit and `B` a byte.
pub(super) fn rate(name: &str) -> Option<Rate> {
    let trimmed = name.trim().trim_end_matches([')', ']']);
    let lower = trimmed.to_lowercase();
    // nccl-tests and rccl-tests count these two in decimal GB/s and do not say so in CSV.
    if let plain @ ("algbw" | "algobw" | "busbw") = lower.replace('_', "").as_str() {
        return Some(Rate::Bytes { unit: 1e9, bus: plain == "busbw", or_bits: false });
    }
    let words: Vec<&str> =
        trimmed.split([' ', '_', '(', '[', '-']).filter(|word| !word.is_empty()).collect();
    let bus = lower.contains("bus");
    let end = End::of(&words)?;
    if let Some(unit) = flops_unit(&end.amount.to_lowercase(), end.per) {
        return Some(Rate::Flops { unit });
    }
    let (unit, or_bits) = match (end.is_mixed_case(), end.per) {
        (_, Per::Nothing) => return None,
        // `gbs` alone is a global batch size.
        (_, Per::BareS) if !speaks_of_bandwidth(&words) => return None,
        (true, _) => (byte_unit(end.amount)?, false),
        (false, per) => {
            let amount = end.amount.to_lowercase();
            match amount.strip_suffix('b') {
                Some(prefix) => (byte_unit(&format!("{prefix}B"))?, per == Per::Ps),
                None => (byte_unit(&amount)?, false),
            }
        }
    };
    Some(Rate::Bytes { unit, bus, or_bits })
}

/// How a name says that it counts per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Per {
    /// `/s`, `_s`, `_per_s`.
    Second,
    /// `ps`, as in `gbps`.
    Ps,
    /// A single letter, as in `gbs`.
    BareS,
    /// Not at all, as in `tflop`.
    Nothing,
}

/// The end of a name: an amount per second.
struct End<'a> {
    amount: &'a str,
    per: Per,
    /// The words it was read from.
    second: &'a str,
}

impl<'a> End<'a> {
    fn of(words: &[&'a str]) -> Option<End<'a>> {
        let is_second = |word: &str| matches!(word.to_lowercase().as_str(), "s" | "sec" | "second");
        let end = |amount, per, second| Some(End { amount, per, second });
        match *words {
            [.., amount, per, second] if per.eq_ignore_ascii_case("per") && is_second(second) => {
                end(amount, Per::Second, second)
            }
            [.., amount, second] if is_second(second) => end(amount, Per::Second, second),
            [.., word] => {
                if let Some((amount, second)) = word.split_once('/') {
                    return if is_second(second) { end(amount, Per::Second, second) } else { None };
                }
                for (suffix, per) in [("ps", Per::Ps), ("s", Per::BareS)] {
                    if let Some((amount, second)) = split_suffix(word, suffix) {
                        return end(amount, per, second);
                    }
                }
                end(word, Per::Nothing, "")
            }
            [] => None,
        }
    }

    fn is_mixed_case(&self) -> bool {
        let letters = || self.amount.chars().chain(self.second.chars());
        letters().any(char::is_uppercase) && letters().any(char::is_lowercase)
    }
}

/// Splits off `suffix` in whichever case, if something is left.
fn split_suffix<'a>(word: &'a str, suffix: &str) -> Option<(&'a str, &'a str)> {
    let (start, end) = word.split_at_checked(word.len().checked_sub(suffix.len())?)?;
    (!start.is_empty() && end.eq_ignore_ascii_case(suffix)).then_some((start, end))
}

fn speaks_of_bandwidth(words: &[&str]) -> bool {
    words.iter().any(|word| {
        let word = word.to_lowercase();
        word.contains("bw")
            || ["band", "through", "rate", "speed"].iter().any(|b| word.starts_with(b))
    })
}

/// Operations in `tflop` per second, or in `tflops`, which says so by its last letter.
fn flops_unit(amount: &str, per: Per) -> Option<f64> {
    let prefix = match per {
        Per::Second => amount.strip_suffix("flops").or_else(|| amount.strip_suffix("flop"))?,
        Per::Ps => amount.strip_suffix("flo")?,
        Per::BareS => amount.strip_suffix("flop")?,
        Per::Nothing => return None,
    };
    match prefix {
        "" => Some(1.0),
        "m" => Some(1e6),
        "g" => Some(1e9),
        "t" => Some(1e12),
        "p" => Some(1e15),
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
        "Ti" | "ti" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    Some(scale * bytes)
}

/// Bytes in the unit of a column of sizes, by its normalised name: `bytes`, `size_mib`. `kb`
/// and its like have two readings. None for other columns, a bare `size` among them: it may
/// count elements.
pub(super) fn size_units(name: &str) -> Option<&'static [f64]> {
    const WORDS: [&str; 14] = [
        "size", "msg", "message", "data", "buffer", "buf", "transfer", "total", "num", "n", "in",
        "moved", "payload", "bytes",
    ];
    const MIB: f64 = 1024.0 * 1024.0;
    if matches!(name, "bytes_moved" | "bytes_total") {
        return Some(&[1.0]);
    }
    let (stem, unit) = name.rsplit_once('_').unwrap_or(("", name));
    if !stem.is_empty() && !stem.split('_').all(|word| WORDS.contains(&word)) {
        return None;
    }
    match unit {
        "bytes" | "nbytes" => Some(&[1.0]),
        "kib" => Some(&[1024.0]),
        "mib" => Some(&[MIB]),
        "gib" => Some(&[1024.0 * MIB]),
        _ if stem.is_empty() => None,
        "b" => Some(&[1.0]),
        "kb" => Some(&[1e3, 1024.0]),
        "mb" => Some(&[1e6, MIB]),
        "gb" => Some(&[1e9, 1024.0 * MIB]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_tell_bits_bytes_and_binary_units_apart() {
        let bytes = |unit| Some(Rate::Bytes { unit, bus: false, or_bits: false });
        let bus = |unit| Some(Rate::Bytes { unit, bus: true, or_bits: false });
        let either = |unit| Some(Rate::Bytes { unit, bus: false, or_bits: true });
        let flops = |unit| Some(Rate::Flops { unit });
        for (name, expected) in [
            ("bw_MBps", bytes(1e6)),
            ("GB/s", bytes(1e9)),
            ("gb/s", bytes(1e9)),
            ("bandwidth (GiB/s)", bytes(1_073_741_824.0)),
            ("bw_MB_s", bytes(1e6)),
            ("bw_gbs", bytes(1e9)),
            ("bw_GBs", bytes(1e9)),
            ("bandwidth_gbs", bytes(1e9)),
            ("bandwidth_gb_s", bytes(1e9)),
            ("bw_gb_per_sec", bytes(1e9)),
            ("bw_mib_s", bytes(1_048_576.0)),
            ("BW_GBPS", either(1e9)),
            ("gbps", either(1e9)),
            ("bandwidth_mbps", either(1e6)),
            ("throughput_Gbps", bytes(0.125e9)),
            ("throughput_gbit_s", bytes(0.125e9)),
            ("busbw_GB/s", bus(1e9)),
            ("busbw_gbs", bus(1e9)),
            ("busBw", bus(1e9)),
            ("bus_bw", bus(1e9)),
            ("algbw", bytes(1e9)),
            ("algo_bw", bytes(1e9)),
            ("TFLOPS", flops(1e12)),
            ("tflop_s", flops(1e12)),
            ("GFLOP/s", flops(1e9)),
            ("tflops_per_s", flops(1e12)),
            ("mflops", flops(1e6)),
        ] {
            assert_eq!(rate(name), expected, "{name}");
        }
        for other in [
            "time_s", "steps", "maps", "s", "m", "", "batch", "bs", "gbs", "mbs", "num_mbs",
            "bps_x", "tables", "tflop", "/", "µs", "é_s",
        ] {
            assert_eq!(rate(other), None, "{other}");
        }
    }

    #[test]
    fn sizes_are_known_by_their_unit() {
        for (name, units) in [
            ("bytes", &[1.0][..]),
            ("size_bytes", &[1.0]),
            ("size_in_bytes", &[1.0]),
            ("size_kib", &[1024.0]),
            ("message_size_mib", &[1_048_576.0]),
            ("size_kb", &[1e3, 1024.0]),
        ] {
            assert_eq!(size_units(name), Some(units), "{name}");
        }
        for other in ["size", "mb", "bytes_read", "cache_bytes", "batch", ""] {
            assert_eq!(size_units(other), None, "{other}");
        }
    }
}
