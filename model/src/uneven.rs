//! All-to-all-v whose imbalance was not measured: the size that takes as long where it was.
//!
//! Each rank sends equal parts to all ranks, so the rank that sends most sends
//! `(n-1)/n * bytes * imbalance` over its link, its own part left out, and receives
//! `bytes` less a part of its own, which is never more: the busiest direction of the busiest link
//! is what it sends. The whole takes as long as an even one of that size (the largest of sent and
//! received over all ranks, as the reference system sizes it). Ranks that share a link beyond
//! their own are held up less, so the interval reaches down to the even time.

use kernelgauge_data::{Collective, CollectivePoint, Point, point::EVEN};

use crate::math::ln;

/// The point that answers for `point` among `variants`, by their names: of the nearest imbalance,
/// else of all-to-all. None where the point is no all-to-all-v or nothing answers.
pub(crate) fn stand_in<'name>(
    point: &Point,
    variants: impl Iterator<Item = &'name str>,
) -> Option<Point> {
    let Point::Collective(asked) = point else { return None };
    if asked.collective != Collective::AllToAllV {
        return None;
    }
    let measured = variants.filter_map(|name| imbalance_of(asked, name));
    let away = |(_, imbalance): &(Collective, u64)| {
        (ln(*imbalance as f64) - ln(asked.imbalance as f64)).abs()
    };
    let nearest = measured.min_by(|a, b| {
        let even = |of: &(Collective, u64)| of.0 == Collective::AllToAll;
        even(a).cmp(&even(b)).then(away(a).total_cmp(&away(b)))
    });
    nearest.map(|(collective, imbalance)| of_size(asked, collective, imbalance))
}

/// `point` as the variant called `name` would be asked.
pub(crate) fn as_variant(point: &Point, name: &str) -> Option<Point> {
    let Point::Collective(asked) = point else { return None };
    let (collective, imbalance) = imbalance_of(asked, name)?;
    Some(of_size(asked, collective, imbalance))
}

/// The collective and imbalance of a variant that can answer for an all-to-all-v.
fn imbalance_of(asked: &CollectivePoint, name: &str) -> Option<(Collective, u64)> {
    let mut words = name.split('/');
    let collective: Collective = words.next()?.parse().ok()?;
    let usable = matches!(collective, Collective::AllToAll | Collective::AllToAllV);
    if !usable || words.next()? != asked.dtype.name() {
        return None;
    }
    let imbalance = words.next().map_or(Some(EVEN), |percent| percent.parse().ok())?;
    (imbalance >= EVEN).then_some((collective, imbalance))
}

fn of_size(asked: &CollectivePoint, collective: Collective, imbalance: u64) -> Point {
    let element = asked.dtype.size().max(1);
    let scaled = u128::from(asked.bytes) * u128::from(asked.imbalance) / u128::from(imbalance);
    let bytes = u64::try_from(scaled).unwrap_or(u64::MAX);
    let whole = (bytes / element).max(1).saturating_mul(element);
    Point::Collective(CollectivePoint { collective, imbalance, bytes: whole, ..*asked })
}

/// `point` without its imbalance.
pub(crate) fn evened(point: &Point) -> Option<Point> {
    match point {
        Point::Collective(asked) if asked.imbalance != EVEN => {
            Some(Point::Collective(CollectivePoint { imbalance: EVEN, ..*asked }))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use kernelgauge_data::{Dtype, Links};

    use super::*;

    fn asked(imbalance: u64) -> Point {
        Point::Collective(CollectivePoint {
            collective: Collective::AllToAllV,
            dtype: Dtype::F16,
            ranks: 4,
            nodes: 1,
            links: Links::Nvlink,
            bytes: 1000,
            imbalance,
        })
    }

    fn words(names: &[&str], imbalance: u64) -> String {
        stand_in(&asked(imbalance), names.iter().copied())
            .map_or_else(|| "none".to_owned(), |point| point.to_string())
    }

    #[test]
    fn the_nearest_imbalance_answers_then_the_even_exchange() {
        let measured = ["all_reduce/f16", "all_to_all/f16", "all_to_all_v/f16/200"];
        let of_v = words(&measured, 150);
        assert!(of_v.contains("all_to_all_v") && of_v.contains("bytes=750"), "{of_v}");
        let even = words(&measured[..2], 150);
        assert!(even.contains("all_to_all/f16") && even.contains("bytes=1500"), "{even}");
        assert_eq!(words(&measured[..1], 150), "none");
        assert_eq!(words(&["all_to_all/int8"], 150), "none");
    }
}
