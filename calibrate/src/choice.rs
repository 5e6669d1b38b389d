//! Which points tell most for what they cost.
//!
//! Every point has a number between 0 and 1 that spreads any share of the points evenly. Divided
//! by what a model would be unsure of, over the root of what measuring costs, the smallest come
//! first: points are drawn with probabilities in proportion to their doubt (sequential Poisson
//! sampling, Ohlsson 1998), and their cost weighs as it does in Neyman's allocation. So doubtful
//! corners are measured more densely and no corner is left out, as it would be if the most
//! doubtful points were simply taken: these are often neighbours, or noise. Tried on bands of a
//! published table that no result is told of (H200, 36 thousand products), that was the worst
//! choice, behind drawing at random.
//!
//! Left to others: doubts (`kernelgauge_model::doubts`), and when they are asked for.

/// The doubt of a variant that no model has an opinion of: it may be off by a factor.
const NO_OPINION: f64 = 1.0;

/// Doubts below this are none: a constant answer must not starve a variant.
const LEAST: f64 = 1e-4;

/// How many points are added before doubts are asked for again: a quarter, and at least `least`.
pub const fn next_after(points: usize, least: usize) -> usize {
    let quarter = points / 4;
    points + if quarter > least { quarter } else { least }
}

/// What decides when a point is measured; the smallest come first. `number` lies in 0..1; `cost`
/// is in any unit that is the same for all.
pub fn priority(number: f64, doubt: Option<f64>, cost: f64) -> f64 {
    number * cost.max(f64::MIN_POSITIVE).sqrt() / doubt.unwrap_or(NO_OPINION).max(LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubt_draws_near_and_cost_puts_off() {
        assert!(priority(0.5, Some(0.2), 1.0) < priority(0.5, Some(0.1), 1.0));
        assert!(priority(0.5, Some(0.1), 1.0) < priority(0.5, Some(0.1), 4.0));
        assert!(priority(0.5, None, 1.0) < priority(0.5, Some(0.1), 1.0));
        // Twice the doubt is worth four times the cost.
        let (dear, cheap) = (priority(0.5, Some(0.2), 4.0), priority(0.5, Some(0.1), 1.0));
        assert!((dear - cheap).abs() < 1e-12);
        assert!(priority(0.1, Some(0.0), 1.0).is_finite());
    }

    #[test]
    fn batches_grow_with_what_is_known() {
        assert_eq!([next_after(100, 50), next_after(400, 50)], [150, 500]);
    }
}
