//! The parts of an uneven all-to-all: how much each rank sends to each, by the imbalance of
//! `CollectivePoint`.

use crate::random::Random;

/// What each rank sends to each of all ranks, in elements; all together are `elements`, which is
/// what every rank receives. One random rank sends `imbalance` percent of the mean (rounded to
/// whole elements), the others random shares of the rest, none of them more.
pub fn parts(elements: u64, ranks: u64, imbalance: u64, seed: u64) -> Vec<u64> {
    let shares = shares(ranks, imbalance, seed);
    let mut parts = Vec::with_capacity(shares.len());
    let (mut sum, mut before) = (0.0, 0);
    for (index, share) in shares.iter().enumerate() {
        sum += share;
        // The last border is exact, whatever was rounded before.
        let last = index + 1 == shares.len();
        let border = if last { elements } else { (sum * elements as f64 / ranks as f64) as u64 };
        let border = border.clamp(before, elements);
        parts.push(border - before);
        before = border;
    }
    parts
}

/// What each rank sends over the mean; their sum is the number of ranks.
fn shares(ranks: u64, imbalance: u64, seed: u64) -> Vec<f64> {
    let most = imbalance as f64 / 100.0;
    let others = ranks.saturating_sub(1).max(1) as f64;
    let mean = ((ranks as f64 - most) / others).max(0.0);
    let mut random = Random::new(seed);
    let first = random.below(ranks.max(1));
    let mut shares: Vec<f64> = (0..ranks).map(|_| random.unit() - 0.5).collect();
    let rest = || (0..ranks).filter(|rank| *rank != first);
    let middle = rest().map(|rank| shares[rank as usize]).sum::<f64>() / others;
    let off = |rank: u64| shares[rank as usize] - middle;
    let (above, below) =
        rest().map(off).fold((0.0_f64, 0.0_f64), |(a, b), off| (a.max(off), b.max(-off)));
    // As far apart as the largest share and nothing allow.
    let room = |limit: f64, reach: f64| if reach > 0.0 { limit / reach } else { 0.0 };
    let scale = room(most - mean, above).min(room(mean, below)).max(0.0);
    let scaled: Vec<f64> = (0..ranks).map(|rank| mean + scale * off(rank)).collect();
    shares = scaled;
    if let Some(share) = shares.get_mut(first as usize) {
        *share = most;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_and_the_largest_is_what_was_asked_for() {
        for ranks in [2, 3, 8, 16] {
            for imbalance in [100, 101, 150, 200, 100 * ranks] {
                if imbalance > 100 * ranks {
                    continue;
                }
                for elements in [0, 5, 1 << 20] {
                    let parts = parts(elements, ranks, imbalance, 7);
                    assert_eq!(parts.len() as u64, ranks);
                    assert_eq!(parts.iter().sum::<u64>(), elements);
                    let most = (elements * imbalance) as f64 / (100 * ranks) as f64;
                    let largest = parts.iter().max().copied().unwrap_or_default() as f64;
                    assert!((largest - most).abs() <= 2.0, "{ranks} {imbalance}: {parts:?}");
                }
            }
        }
    }

    #[test]
    fn the_same_seed_splits_the_same_way() {
        assert_eq!(parts(1000, 8, 200, 3), parts(1000, 8, 200, 3));
        assert_ne!(parts(1000, 8, 200, 3), parts(1000, 8, 200, 4));
        assert_eq!(parts(1000, 4, 100, 3), [250; 4]);
    }
}
