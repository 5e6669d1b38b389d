//! An order in which everything comes behind what it waits for.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The places `0..count`, each behind those that an arrow leads from, otherwise by `key`. Places
/// that wait for each other, and those behind them, are left out.
pub(in crate::chakra) fn sort<K: Ord>(
    count: usize,
    arrows: &[(usize, usize)],
    key: impl Fn(usize) -> K,
) -> Vec<usize> {
    let mut waiting = vec![0usize; count];
    let mut behind: Vec<Vec<usize>> = vec![Vec::new(); count];
    for &(from, to) in arrows {
        behind[from].push(to);
        waiting[to] += 1;
    }
    let keyed = |place: usize| Reverse((key(place), place));
    let free = (0..count).filter(|&place| waiting[place] == 0);
    let mut ready: BinaryHeap<_> = free.map(keyed).collect();
    let mut order = Vec::with_capacity(count);
    while let Some(Reverse((_, place))) = ready.pop() {
        order.push(place);
        for &after in &behind[place] {
            waiting[after] -= 1;
            if waiting[after] == 0 {
                ready.push(keyed(after));
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_come_before_keys() {
        assert_eq!(sort(4, &[(3, 0), (0, 1)], |place| place), [2, 3, 0, 1]);
        assert_eq!(sort(3, &[(1, 2), (2, 1)], |place| place), [0]);
    }
}
