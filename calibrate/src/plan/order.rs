//! The order of a plan: passes one after the other; within a pass every variant shuffled and
//! spread evenly.
//!
//! Shuffling keeps slow drift of the machine from lining up with a parameter. Spreading gives
//! every family, variant and cache state the same share of any stretch of the run, so its cost
//! is spread as well.

use std::collections::BTreeMap;

use kernelgauge_cuda::random::Random;

use super::Candidate;

/// `candidates` in the order they are measured. The result depends on the set of candidates
/// and the seed, not on the order they come in.
pub fn spread(candidates: Vec<Candidate>, seed: u64) -> Vec<Candidate> {
    let mut groups: BTreeMap<_, Vec<Candidate>> = BTreeMap::new();
    for candidate in candidates {
        let point = &candidate.point;
        let condition = (candidate.cache, candidate.manner);
        let group = (candidate.level, point.family(), point.variant(), condition);
        groups.entry(group).or_default().push(candidate);
    }
    let mut random = Random::new(seed);
    let mut placed: Vec<(u8, f64, Candidate)> = Vec::new();
    for ((level, ..), mut group) in groups {
        group.sort_by(|a, b| a.point.cmp(&b.point));
        shuffle(&mut group, &mut random);
        let length = group.len() as f64;
        for (index, candidate) in group.into_iter().enumerate() {
            placed.push((level, (index as f64 + random.unit()) / length, candidate));
        }
    }
    placed.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    placed.into_iter().map(|(.., candidate)| candidate).collect()
}

/// Fisher-Yates.
pub fn shuffle<T>(items: &mut [T], random: &mut Random) {
    for last in (1..items.len()).rev() {
        items.swap(last, random.below(last as u64 + 1) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shuffle_keeps_every_item_and_reaches_every_place() {
        let mut first_places = [0; 4];
        for seed in 0..400 {
            let mut items = [0, 1, 2, 3];
            shuffle(&mut items, &mut Random::new(seed));
            first_places[items[0]] += 1;
            items.sort_unstable();
            assert_eq!(items, [0, 1, 2, 3]);
        }
        assert!(first_places.iter().all(|count| (60..140).contains(count)), "{first_places:?}");
    }
}
