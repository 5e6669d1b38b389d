//! Which element of one list is which of another, when both name the same events in the same
//! order and each may miss some.

use crate::names::Symbol;

/// How far apart the lists may drift before they meet again.
const WINDOW: usize = 32;

/// Pairs of places with equal names, in order. Where the lists differ, the shortest way to the
/// next two equal names is taken.
pub fn align(left: &[Option<Symbol>], right: &[Option<Symbol>]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let (mut i, mut j) = first_shared(left, right).unwrap_or((left.len(), right.len()));
    while i < left.len() && j < right.len() {
        if left[i].is_some() && left[i] == right[j] {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
            continue;
        }
        match resume(&left[i..], &right[j..]) {
            Some((skipped_left, skipped_right)) => (i, j) = (i + skipped_left, j + skipped_right),
            None => i += 1,
        }
    }
    pairs
}

/// Names that have to agree in a row before one beginning is no better than another.
const LONGEST_RUN: usize = 256;

/// Where the two agree longest in a row, from one of the first names of the left on, the first of
/// equals: an execution trace has one step, and a recording may have that step among many.
fn first_shared(left: &[Option<Symbol>], right: &[Option<Symbol>]) -> Option<(usize, usize)> {
    let run = |i: usize, j: usize| {
        let pairs = left[i..].iter().zip(&right[j..]).take(LONGEST_RUN);
        pairs.take_while(|(one, other)| one.is_some() && one == other).count()
    };
    let mut best = None;
    let mut longest = 0;
    for i in 0..left.len().min(WINDOW) {
        for j in 0..right.len() {
            let agreed = run(i, j);
            if agreed > longest {
                (longest, best) = (agreed, Some((i, j)));
            }
        }
        if longest == LONGEST_RUN {
            break;
        }
    }
    best
}

/// The fewest elements to skip on both sides until two names in a row agree.
fn resume(left: &[Option<Symbol>], right: &[Option<Symbol>]) -> Option<(usize, usize)> {
    let agree = |i: usize, j: usize| {
        let same = |i: usize, j: usize| match (left.get(i), right.get(j)) {
            (Some(Some(a)), Some(Some(b))) => a == b,
            // The end of a list contradicts nothing.
            (None, _) | (_, None) => true,
            _ => false,
        };
        left.get(i).is_some_and(Option::is_some)
            && right.get(j).is_some()
            && same(i, j)
            && same(i + 1, j + 1)
    };
    (1..=WINDOW).find_map(|skipped| {
        (0..=skipped).map(|left| (left, skipped - left)).find(|&(i, j)| agree(i, j))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Names;

    fn check(left: &str, right: &str, expected: &[(usize, usize)]) {
        let mut names = Names::default();
        let mut list = |text: &str| {
            text.chars().map(|c| Some(names.symbol(&c.to_string()))).collect::<Vec<_>>()
        };
        let (left, right) = (list(left), list(right));
        assert_eq!(align(&left, &right), expected);
    }

    #[test]
    fn both_sides_may_miss_some() {
        check("abcd", "abcd", &[(0, 0), (1, 1), (2, 2), (3, 3)]);
        check("abxcd", "abcd", &[(0, 0), (1, 1), (3, 2), (4, 3)]);
        check("abcd", "zzabyycd", &[(0, 2), (1, 3), (2, 6), (3, 7)]);
        check("", "abc", &[]);
        check("abc", "", &[]);
        check("abc", "xyz", &[]);
    }

    #[test]
    fn a_step_is_found_among_others_like_it() {
        // The first step lacks an op that the recorded one has.
        check("abcd", "abdabcdabd", &[(0, 3), (1, 4), (2, 5), (3, 6)]);
    }
}
