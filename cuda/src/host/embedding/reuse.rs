//! Indices whose rows are reused as often as a histogram says.

use std::collections::HashSet;

use kernelgauge_data::point::ReuseHistogram;

use crate::random::Random;

/// Draws `lookups` indices below `rows` of which `distinct` are different, reused as the shares
/// in `bins` say: bin 0 holds rows looked up once, bin `i` those looked up more than `2^(i-1)`
/// and at most `2^i` times.
///
/// Where shares, lookups and rows contradict each other, the number of lookups is kept, and
/// counts leave their bins as little as that takes: a batch of 100 lookups cannot hold a row
/// that is looked up 30 000 times.
pub fn draw(
    bins: &ReuseHistogram,
    distinct: u64,
    lookups: u64,
    rows: u64,
    random: &mut Random,
) -> Vec<u64> {
    if lookups == 0 {
        return Vec::new();
    }
    let distinct = distinct.clamp(1, rows.min(lookups).max(1));
    let counts = reuse_counts(bins, distinct, lookups, random);
    let chosen = choose(distinct, rows, random);
    let mut indices: Vec<u64> = chosen
        .into_iter()
        .zip(counts)
        .flat_map(|(row, count)| std::iter::repeat_n(row, count as usize))
        .collect();
    for last in (1..indices.len()).rev() {
        indices.swap(last, random.below(last as u64 + 1) as usize);
    }
    indices
}

/// Smallest and largest reuse in a bin.
fn limits(bin: usize) -> (u64, u64) {
    match bin {
        0 => (1, 1),
        16 => ((1 << 15) + 1, u64::MAX),
        _ => ((1 << (bin - 1)) + 1, 1 << bin),
    }
}

/// How often each of `distinct` rows is looked up; `lookups` in all.
fn reuse_counts(
    bins: &ReuseHistogram,
    distinct: u64,
    lookups: u64,
    random: &mut Random,
) -> Vec<u64> {
    let mut counts: Vec<(u64, usize)> = Vec::with_capacity(distinct as usize);
    for (bin, members) in shared_out(bins, distinct).into_iter().enumerate() {
        let (low, high) = limits(bin);
        // The last bin is open: as wide as the one before it.
        let width = high.min(2 * low) - low + 1;
        counts.extend((0..members).map(|_| (low + random.below(width), bin)));
    }
    let sum: u64 = counts.iter().map(|(count, _)| count).sum();
    if sum < lookups {
        raise(&mut counts, lookups - sum);
    } else {
        lower(&mut counts, sum - lookups);
    }
    counts.into_iter().map(|(count, _)| count).collect()
}

/// Splits `distinct` rows among the bins by their shares, largest remainders first.
fn shared_out(bins: &ReuseHistogram, distinct: u64) -> Vec<u64> {
    let total: u128 = bins.iter().map(|share| u128::from(*share)).sum::<u128>().max(1);
    let exact = |share: u32| u128::from(share) * u128::from(distinct);
    let mut members: Vec<u64> = bins.iter().map(|share| (exact(*share) / total) as u64).collect();
    let mut order: Vec<usize> = (0..bins.len()).collect();
    order.sort_by_key(|bin| std::cmp::Reverse(exact(bins[*bin]) % total));
    let missing = distinct - members.iter().sum::<u64>().min(distinct);
    for bin in order.iter().cycle().take(missing as usize) {
        members[*bin] += 1;
    }
    members
}

/// Adds `missing` lookups, within the bins as far as possible, the rest to the most used row.
fn raise(counts: &mut [(u64, usize)], mut missing: u64) {
    for (count, bin) in counts.iter_mut().rev() {
        let room = limits(*bin).1.min(1 << 16).saturating_sub(*count).min(missing);
        *count += room;
        missing -= room;
    }
    if let Some((count, _)) = counts.last_mut() {
        *count += missing;
    }
}

/// Takes `excess` lookups away, within the bins as far as possible, then from the most used
/// rows down to one lookup each.
fn lower(counts: &mut [(u64, usize)], mut excess: u64) {
    for within_bins in [true, false] {
        for (count, bin) in counts.iter_mut().rev() {
            let least = if within_bins { limits(*bin).0 } else { 1 };
            let room = count.saturating_sub(least).min(excess);
            *count -= room;
            excess -= room;
        }
    }
}

/// `wanted` different numbers below `rows`, in random order.
fn choose(wanted: u64, rows: u64, random: &mut Random) -> Vec<u64> {
    if wanted > rows / 4 {
        let mut all: Vec<u64> = (0..rows).collect();
        for place in 0..wanted.min(rows) as usize {
            let other = place + random.below(rows - place as u64) as usize;
            all.swap(place, other);
        }
        all.truncate(wanted as usize);
        return all;
    }
    let mut seen = HashSet::with_capacity(wanted as usize);
    let mut chosen = Vec::with_capacity(wanted as usize);
    while (chosen.len() as u64) < wanted {
        let row = random.below(rows);
        if seen.insert(row) {
            chosen.push(row);
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use kernelgauge_data::point::REUSE_BINS;

    use super::*;

    fn bin_of(count: u64) -> usize {
        (u64::BITS - (count - 1).leading_zeros()).min(16) as usize
    }

    /// Shares of distinct rows per bin, and the number of distinct rows.
    fn shares(indices: &[u64]) -> (Vec<f64>, usize) {
        let mut counts: HashMap<u64, u64> = HashMap::new();
        for index in indices {
            *counts.entry(*index).or_default() += 1;
        }
        let mut shares = vec![0.0; REUSE_BINS];
        for count in counts.values() {
            shares[bin_of(*count)] += 1.0 / counts.len() as f64;
        }
        (shares, counts.len())
    }

    #[test]
    fn bins_hold_what_they_say() {
        for bin in 0..16 {
            let (low, high) = limits(bin);
            assert_eq!((bin_of(low), bin_of(high)), (bin, bin));
        }
        assert_eq!(bin_of(limits(16).0), 16);
    }

    #[test]
    fn indices_reproduce_the_shares() {
        let mut bins = [0; REUSE_BINS];
        bins[..5].copy_from_slice(&[600_000, 200_000, 100_000, 60_000, 40_000]);
        // Mean reuse, each bin at the middle of its range: 0.6 + 0.4 + 0.35 + 0.39 + 0.5.
        let (distinct, lookups) = (20_000, 44_800);
        let indices = draw(&bins, distinct, lookups, 1_000_000, &mut Random::new(3));
        assert_eq!(indices.len() as u64, lookups);
        let (found, different) = shares(&indices);
        assert_eq!(different as u64, distinct);
        for (bin, share) in bins.iter().enumerate() {
            let expected = f64::from(*share) / 1e6;
            assert!((found[bin] - expected).abs() < 0.001, "bin {bin}: {} {expected}", found[bin]);
        }
    }

    #[test]
    fn contradictions_keep_the_number_of_lookups() {
        let mut heavy = [0; REUSE_BINS];
        heavy[16] = 1_000_000;
        let mut random = Random::new(4);
        assert_eq!(draw(&heavy, 1, 100, 1_000, &mut random).len(), 100);
        let mut light = [0; REUSE_BINS];
        light[0] = 1_000_000;
        let crowded = draw(&light, 10, 5_000, 10, &mut random);
        assert_eq!(crowded.len(), 5_000);
        assert!(crowded.iter().all(|row| *row < 10));
        assert_eq!(draw(&[0; REUSE_BINS], 7, 21, 100, &mut random).len(), 21);
        assert_eq!(draw(&light, 1, 0, 100, &mut random).len(), 0);
    }

    #[test]
    fn chosen_rows_differ_and_are_seeded() {
        for (wanted, rows) in [(10, 10), (3, 1_000), (300, 1_000)] {
            let chosen = choose(wanted, rows, &mut Random::new(5));
            let different: HashSet<&u64> = chosen.iter().collect();
            assert_eq!(different.len() as u64, wanted);
            assert_eq!(chosen, choose(wanted, rows, &mut Random::new(5)));
        }
    }
}
