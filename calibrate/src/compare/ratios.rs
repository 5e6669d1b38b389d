//! Ratios of the times of one variant, B over A, and whether they are more than noise.
//!
//! Each time has a 90 % interval: of repeats where it was measured, of the model where it was
//! predicted. Two times differ beyond noise where these do not overlap. A variant has changed
//! where its median ratio is beyond the threshold and more than half of its points differ beyond
//! noise: one point may jump, most do not. Under [`ENOUGH`] points nothing is concluded, and
//! points that were measured while the machine drifted or was shared are no evidence.

use std::collections::BTreeMap;

use kernelgauge_data::{CacheState, Family, Nanos, Point, statistics};
use kernelgauge_model::{BasisChoice, DomainStatus, MeasuredPoint, Model, Prediction, Query};
use serde::Serialize;

use super::side::{Key, Side};

/// Points that a variant needs to count as changed.
pub const ENOUGH: usize = 5;

/// What ratios are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Times measured at the same points.
    Measured,
    /// Predictions of two models, over the domain both cover.
    Predicted,
    /// Both, in the row of a family.
    Mixed,
    /// Nothing: only A has the variant.
    OnlyA,
    /// Nothing: only B has the variant.
    OnlyB,
}

impl Basis {
    /// The words of the tables.
    pub const fn name(self) -> &'static str {
        match self {
            Basis::Measured => "measured",
            Basis::Predicted => "predicted",
            Basis::Mixed => "both",
            Basis::OnlyA => "only in A",
            Basis::OnlyB => "only in B",
        }
    }
}

/// A family, or one of its variants.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The family.
    pub family: Family,
    /// The variant; none in the row of a family.
    pub variant: Option<String>,
    /// Hot or cold operands.
    pub cache: CacheState,
    /// What the ratios are of.
    pub basis: Basis,
    /// Ratios.
    pub points: usize,
    /// Median time of these points on side A, in microseconds.
    pub a_us: Option<f64>,
    /// The same on side B.
    pub b_us: Option<f64>,
    /// Median of the ratios.
    pub median: Option<f64>,
    /// Their 10th percentile.
    pub p10: Option<f64>,
    /// Their 90th percentile.
    pub p90: Option<f64>,
    /// How many of them are more than noise.
    pub beyond_noise: usize,
    /// Points left out, since one side drifted or was shared when it measured them.
    pub left_out: usize,
    /// Whether the variant differs beyond threshold and noise.
    pub changed: bool,
    /// Whether it would, but has too few points to tell.
    pub too_few: bool,
}

/// The times of one point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    a: Nanos,
    b: Nanos,
    ratio: f64,
    beyond_noise: bool,
}

impl Pair {
    /// Times with the ends of their intervals.
    pub fn of(a: (Nanos, Nanos, Nanos), b: (Nanos, Nanos, Nanos)) -> Self {
        let ratio = b.0.as_f64() / a.0.as_f64().max(1.0);
        Pair { a: a.0, b: b.0, ratio, beyond_noise: a.2 < b.1 || b.2 < a.1 }
    }
}

/// One variant with the points of both sides.
pub struct Variant<'a> {
    /// Its family.
    pub family: Family,
    name: &'a str,
    cache: CacheState,
    a: &'a [MeasuredPoint],
    b: &'a [MeasuredPoint],
    /// Points that both measured.
    pub common: Vec<Pair>,
    /// Points that both measured, one of them disturbed.
    pub left_out: usize,
}

/// Every variant that either side has, in order.
pub fn variants<'a>(a: &'a Side, b: &'a Side) -> Vec<Variant<'a>> {
    let mut keys: Vec<&Key> = a.points.keys().chain(b.points.keys()).collect();
    keys.sort();
    keys.dedup();
    let of = |side: &'a Side, key: &Key| side.points.get(key).map_or(&[][..], Vec::as_slice);
    let sides = (a, b);
    keys.into_iter()
        .map(|key| {
            let (a, b) = (of(a, key), of(b, key));
            let (common, left_out) = common(a, b, sides);
            Variant { family: key.0, name: &key.1, cache: key.2, a, b, common, left_out }
        })
        .collect()
}

/// Parameters by name, in name order: two data sets may give those of one op in another order.
fn coordinates(point: &Point) -> Vec<(&str, u64)> {
    let names = point.parameter_names().into_iter();
    let mut named: Vec<(&str, u64)> = names.zip(point.parameters().iter().copied()).collect();
    named.sort_unstable();
    named
}

/// The points that both measured, and how many more that one of them measured disturbed.
fn common(a: &[MeasuredPoint], b: &[MeasuredPoint], sides: (&Side, &Side)) -> (Vec<Pair>, usize) {
    let of_a: BTreeMap<Vec<(&str, u64)>, &MeasuredPoint> =
        a.iter().map(|measured| (coordinates(&measured.point), measured)).collect();
    let times = |measured: &MeasuredPoint| (measured.time, measured.low, measured.high);
    let (mut pairs, mut left_out) = (Vec::new(), 0);
    for b in b {
        let Some(a) = of_a.get(&coordinates(&b.point)) else { continue };
        if sides.0.is_disturbed(a) || sides.1.is_disturbed(b) {
            left_out += 1;
        } else {
            pairs.push(Pair::of(times(a), times(b)));
        }
    }
    (pairs, left_out)
}

impl Variant<'_> {
    /// What selects its model.
    pub fn key(&self) -> Key {
        (self.family, self.name.to_owned(), self.cache)
    }

    /// Whether both sides have it.
    pub fn is_in_both(&self) -> bool {
        !self.a.is_empty() && !self.b.is_empty()
    }

    /// Whether both measured any point alike, disturbed or not.
    pub fn is_measured_alike(&self) -> bool {
        !self.common.is_empty() || self.left_out > 0
    }

    /// Which side lacks it.
    pub fn missing(&self) -> Basis {
        if self.a.is_empty() { Basis::OnlyB } else { Basis::OnlyA }
    }

    /// The answers of two models at the measured points of either, at most `most` of each, that
    /// lie inside the domain of both.
    pub fn predicted(&self, (a, b): &(Model, Model), most: usize) -> Vec<Pair> {
        let stride = |points: &[MeasuredPoint]| points.len().div_ceil(most).max(1);
        let thinned = |points| <[MeasuredPoint]>::iter(points).step_by(stride(points));
        let asked = thinned(self.a).chain(thinned(self.b));
        asked
            .filter_map(|measured| {
                let times = |model: &Model| {
                    let answer = inside(model, &measured.point, self.cache)?;
                    Some((answer.time, answer.low, answer.high))
                };
                Some(Pair::of(times(a)?, times(b)?))
            })
            .collect()
    }
}

fn inside(model: &Model, point: &Point, cache: CacheState) -> Option<Prediction> {
    let query = Query { point, cache, basis: BasisChoice::Best, extrapolate: false };
    model.predict(&query).ok().filter(|answer| answer.domain == DomainStatus::Inside)
}

impl Row {
    /// The row of one variant.
    pub fn of(variant: &Variant<'_>, basis: Basis, pairs: &[Pair], threshold: Option<f64>) -> Self {
        let mut row = Row::new(variant.family, basis, pairs);
        row.variant = Some(variant.name.to_owned());
        row.cache = variant.cache;
        let far = |median: f64| {
            threshold.is_some_and(|share| median > 1.0 + share || median < 1.0 / (1.0 + share))
        };
        let differs = row.median.is_some_and(far) && 2 * row.beyond_noise > row.points;
        row.changed = differs && row.points >= ENOUGH;
        row.too_few = differs && row.points < ENOUGH;
        row.left_out = variant.left_out;
        row
    }

    /// How large the change is, whichever way.
    pub fn size(&self) -> f64 {
        self.median.map_or(-1.0, |ratio| ratio.ln().abs())
    }

    /// The row of a family: all pairs of its variants together.
    pub fn of_family(family: Family, variants: &[Row], pairs: &[Pair]) -> Self {
        let mut bases = variants.iter().filter(|row| row.points > 0).map(|row| row.basis);
        let basis = match bases.next() {
            Some(first) if bases.all(|basis| basis == first) => first,
            Some(_) => Basis::Mixed,
            None => variants.first().map_or(Basis::Mixed, |row| row.basis),
        };
        let mut row = Row::new(family, basis, pairs);
        row.left_out = variants.iter().map(|row| row.left_out).sum();
        row
    }

    fn new(family: Family, basis: Basis, pairs: &[Pair]) -> Self {
        let mut ratios: Vec<f64> = pairs.iter().map(|pair| pair.ratio).collect();
        ratios.sort_by(f64::total_cmp);
        let quantile = |share| statistics::quantile(&ratios, share);
        let median_us = |time: fn(&Pair) -> Nanos| {
            let mut times: Vec<f64> = pairs.iter().map(|pair| time(pair).us()).collect();
            times.sort_by(f64::total_cmp);
            statistics::quantile(&times, 0.5)
        };
        Row {
            family,
            variant: None,
            cache: CacheState::Unstated,
            basis,
            points: ratios.len(),
            a_us: median_us(|pair| pair.a),
            b_us: median_us(|pair| pair.b),
            median: quantile(0.5),
            p10: quantile(0.1),
            p90: quantile(0.9),
            beyond_noise: pairs.iter().filter(|pair| pair.beyond_noise).count(),
            left_out: 0,
            changed: false,
            too_few: false,
        }
    }

    /// `gemm bf16 hot`, for tables and messages.
    pub fn label(&self) -> String {
        let variant = self.variant.as_deref().unwrap_or("(all)");
        let label = format!("{} {variant} {}", self.family, self.cache.name());
        label.trim_end().to_owned()
    }
}
