//! Curves of other rank counts, shifted to one that was not measured.
//!
//! A curve has a latency and a time per byte at its ends, and between them the same course
//! whatever the ranks: what moves is where it bends. So the ends are interpolated between two
//! rank counts, and either curve is shifted along both axes until its ends fit. The latency grows
//! linearly in the ranks, as steps of a ring do. The time per byte, less the bus factor, is
//! interpolated in logarithms, but is never more than linear in `1 / ranks`: the former is what
//! PCIe does, where ranks beyond a bridge lose bandwidth, the latter what NVSwitch does.
//! Interpolating log time at equal bytes instead errs two to three times as much.

use kernelgauge_data::Collective;

use super::knots::Ends;
use crate::math::{exp, ln};

/// Latency over the ranks where only one rank count is known: `ranks + 2.5` fits 8 ranks over 2
/// on four published machines, 1.7 to 2.7 times.
const LATENCY_OFFSET: f64 = 2.5;

/// A rank count with its ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    pub ranks: u64,
    pub ends: Ends,
}

/// The ends at `ranks` between two rank counts.
pub(super) fn between(collective: Collective, low: Known, high: Known, ranks: u64) -> Ends {
    let [from, at, to] = [low.ranks, ranks, high.ranks].map(|ranks| ranks as f64);
    let linear = (at - from) / (to - from);
    let log = log_share(low.ranks, high.ranks, ranks);
    let inverse = (1.0 / from - 1.0 / at) / (1.0 / from - 1.0 / to);
    let mixed = |share: f64, a: f64, b: f64| ln(exp(a) + share * (exp(b) - exp(a)));
    let factor = |ranks: u64| ln(collective.bus_factor(ranks));
    let (a, b) = (low.ends.per_byte, high.ends.per_byte);
    let bus = a - factor(low.ranks);
    let bus = bus + log * (b - factor(high.ranks) - bus);
    let saturating = mixed(inverse, a, b);
    let per_byte = if b > a { saturating.min(factor(ranks) + bus) } else { saturating };
    Ends { latency: mixed(linear, low.ends.latency, high.ends.latency), per_byte }
}

/// The ends at `ranks` beyond all rank counts known: the bus bandwidth of the nearest holds.
pub(super) fn beyond(
    collective: Collective,
    nearest: Known,
    next: Option<Known>,
    ranks: u64,
) -> Ends {
    let factor = |ranks: u64| ln(collective.bus_factor(ranks));
    let per_byte = nearest.ends.per_byte - factor(nearest.ranks) + factor(ranks);
    let steps = |ranks: u64| ranks as f64 + LATENCY_OFFSET;
    let by_steps = nearest.ends.latency + ln(steps(ranks) / steps(nearest.ranks));
    let linear = next.map(|next| {
        let [at, near, far] = [ranks, nearest.ranks, next.ranks].map(|ranks| ranks as f64);
        let [near_ns, far_ns] = [nearest, next].map(|known| exp(known.ends.latency));
        near_ns + (at - near) * (near_ns - far_ns) / (near - far)
    });
    // Noise may turn the line round: fewer ranks never take longer, nor more ranks less time.
    let grows = (by_steps - nearest.ends.latency) >= 0.0;
    let sensible = linear.filter(|ns| (*ns > exp(nearest.ends.latency)) == grows && *ns > 0.0);
    let least = nearest.ends.latency.min(by_steps);
    Ends { latency: sensible.map_or(by_steps, |ns| ln(ns).max(least)), per_byte }
}

/// Where `ranks` lies between two others, in logarithms.
pub(super) fn log_share(low: u64, high: u64, ranks: u64) -> f64 {
    let [low, at, high] = [low, ranks, high].map(|ranks| ln(ranks as f64));
    (at - low) / (high - low)
}

/// The log time of a curve with ends `own`, shifted to ends `wanted`, at a size.
pub(super) fn shifted(own: Ends, wanted: Ends, log_bytes: f64, curve: impl Fn(f64) -> f64) -> f64 {
    let slower = wanted.latency - own.latency;
    let larger = wanted.per_byte - own.per_byte - slower;
    slower + curve(log_bytes + larger)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(ranks: u64, latency_us: f64, gb_s: f64) -> Known {
        let ends = Ends { latency: ln(latency_us * 1e3), per_byte: -ln(gb_s) };
        Known { ranks, ends }
    }

    #[test]
    fn latency_is_linear_and_bandwidth_takes_the_lesser() {
        // All-gather of an H200 at 2 and 8 ranks: 5.2 and 10.4 us, 514 and 386 GB/s;
        // at 4 ranks 6.9 us and 423 GB/s were measured.
        let (low, high) = (known(2, 5.2, 514.0), known(8, 10.4, 386.0));
        let at = between(Collective::AllGather, low, high, 4);
        assert!((exp(at.latency) / 6930.0 - 1.0).abs() < 0.01);
        assert!((exp(-at.per_byte) / 423.0 - 1.0).abs() < 0.02, "{}", exp(-at.per_byte));
        // The same over PCIe that loses bandwidth: 39.2, then 1.34 GB/s; measured 6.3.
        let (low, high) = (known(2, 5.3, 39.2), known(8, 13.9, 1.34));
        let at = between(Collective::AllGather, low, high, 4);
        assert!((exp(-at.per_byte) / 6.3 - 1.0).abs() < 0.05, "{}", exp(-at.per_byte));
    }

    #[test]
    fn beyond_the_known_more_ranks_take_longer() {
        let (near, next) = (known(8, 10.4, 386.0), known(4, 6.9, 423.0));
        let more = beyond(Collective::AllGather, near, Some(next), 16);
        assert!((exp(more.latency) - 17_400.0).abs() < 10.0);
        assert!((exp(-more.per_byte) - 386.0 * (7.0 / 8.0) / (15.0 / 16.0)).abs() < 0.1);
        let alone = beyond(Collective::AllGather, near, None, 16);
        assert!(exp(alone.latency) > 18_000.0);
        // Latency that fell with the ranks is no line to go on with.
        let noise = beyond(Collective::AllGather, near, Some(known(4, 12.0, 400.0)), 16);
        assert_eq!(noise.latency, alone.latency);
    }

    #[test]
    fn a_shifted_curve_has_the_wanted_ends() {
        let own = Ends { latency: ln(5e3), per_byte: -ln(500.0) };
        let wanted = Ends { latency: ln(8e3), per_byte: -ln(250.0) };
        let curve = |x: f64| own.latency.max(x + own.per_byte);
        let at = |bytes: f64| exp(shifted(own, wanted, ln(bytes), curve));
        assert!((at(8.0) - 8e3).abs() < 1e-6);
        assert!((at(1e9) - 4e6).abs() < 1e-3);
    }
}
