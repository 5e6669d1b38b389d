//! Sorts lookups by row, so that each row is updated once and by one thread.

/// Bits sorted by in one pass: a histogram of 2048 counters stays in the first cache.
const DIGIT: u32 = 11;

/// A lookup as one word: the row in the upper 32 bits, the bag in the lower.
#[inline(always)]
pub fn key(row: u32, bag: u32) -> u64 {
    u64::from(row) << 32 | u64::from(bag)
}

/// The row of a key.
#[inline(always)]
pub fn row(key: u64) -> usize {
    (key >> 32) as usize
}

/// The bag of a key.
#[inline(always)]
pub fn bag(key: u64) -> usize {
    (key & 0xffff_ffff) as usize
}

/// Sorts `keys` by row, lookups of one row in the order they came, by counting digits of the
/// row's offset from `first_row`, of which there are `rows`. `scratch` is as long as `keys`.
pub fn by_row(keys: &mut [u64], scratch: &mut [u64], first_row: usize, rows: usize) {
    let bits = usize::BITS - rows.saturating_sub(1).leading_zeros();
    let mut in_scratch = false;
    for pass in 0..bits.div_ceil(DIGIT) {
        let (from, to) = if in_scratch { (&*scratch, &mut *keys) } else { (&*keys, &mut *scratch) };
        count_and_place(from, to, |key| (row(key) - first_row) >> (pass * DIGIT));
        in_scratch = !in_scratch;
    }
    if in_scratch {
        keys.copy_from_slice(scratch);
    }
}

/// One stable pass by the lowest [`DIGIT`] bits of `digit`.
fn count_and_place(from: &[u64], to: &mut [u64], digit: impl Fn(u64) -> usize) {
    const BUCKETS: usize = 1 << DIGIT;
    let mut places = [0_usize; BUCKETS];
    for key in from {
        places[digit(*key) % BUCKETS] += 1;
    }
    let mut next = 0;
    for place in &mut places {
        next += std::mem::replace(place, next);
    }
    for key in from {
        let place = &mut places[digit(*key) % BUCKETS];
        to[*place] = *key;
        *place += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn agrees_with_a_stable_sort() {
        let mut random = Random::new(8);
        for (count, first, rows) in [(0, 0, 5), (1, 0, 1), (100, 7, 3), (5_000, 9, 1 << 23)] {
            let mut keys: Vec<u64> = (0..count)
                .map(|bag| key((first + random.below(rows as u64) as usize) as u32, bag))
                .collect();
            let mut expected = keys.clone();
            expected.sort_by_key(|key| row(*key));
            let mut scratch = vec![0; keys.len()];
            by_row(&mut keys, &mut scratch, first, rows);
            assert_eq!(keys, expected);
            assert!(keys.iter().all(|key| bag(*key) < count as usize));
        }
    }
}
