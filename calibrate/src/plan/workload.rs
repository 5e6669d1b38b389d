//! The points of a recorded workload that a device can measure, and how much of it they are.
//!
//! Points are taken as recorded, but in the form in which the device measures: a processor's
//! products have no layout, a GPU's without one are `nt`, and collectives run over the links there
//! are. What is the same point then is measured once.
//!
//! Passes go by time: the first has the longest ops, which make up most of what can be measured,
//! so a budget is spent on what matters.
//!
//! Left to others: reading the traces (`commands`), which point an op is
//! (`kernelgauge_trace::ops`).

use std::collections::BTreeMap;

use kernelgauge_cuda::Device;
use kernelgauge_data::{
    CacheState, CollectivePoint, Family, GemmLayout, GemmPoint, Manner, Nanos, Point, SkipReason,
};
use kernelgauge_trace::ops::Distinct;

use super::{Candidate, Catalogue, DEEPEST};

/// Percent of the time (or calls) of what can be measured that the first pass has, and the first
/// two have.
const PASSES: [u128; 2] = [90, 99];

/// A part of a workload.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Share {
    /// Calls.
    pub calls: u64,
    /// Their recorded time on devices; nothing where no times were recorded.
    pub device: Nanos,
}

impl Share {
    fn add(&mut self, other: Share) {
        self.calls = self.calls.saturating_add(other.calls);
        self.device = self.device + other.device;
    }

    /// What it weighs: time, else calls.
    fn weight(self, timed: bool) -> u128 {
        u128::from(if timed { self.device.get() } else { self.calls })
    }
}

/// A workload, as a device can measure it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    /// All of it.
    pub all: Share,
    /// What the device measures, by point.
    pub points: BTreeMap<Point, Share>,
    /// What it does not, by reason, the longest first.
    pub left_out: Vec<(String, Share)>,
}

impl Workload {
    /// The part of the ops `lines` that `device` has kernels for. Whether its memory is enough is
    /// left to the sweep, since that may differ from run to run.
    pub fn of(lines: &[Distinct], catalogue: Catalogue, device: &dyn Device) -> Self {
        let (mut all, mut points) = (Share::default(), BTreeMap::<Point, Share>::new());
        let mut reasons: BTreeMap<String, Share> = BTreeMap::new();
        for line in lines {
            let share = Share { calls: line.calls, device: line.device.unwrap_or_default() };
            all.add(share);
            let point = line.point.as_ref().map_err(ToString::to_string);
            match point.and_then(|point| measurable(point, catalogue, device)) {
                Ok(point) => points.entry(point).or_default().add(share),
                Err(reason) => reasons.entry(reason).or_default().add(share),
            }
        }
        let mut left_out: Vec<(String, Share)> = reasons.into_iter().collect();
        left_out.sort_by_key(|(_, share)| std::cmp::Reverse((share.device, share.calls)));
        Workload { all, points, left_out }
    }

    /// Its points with their passes.
    pub(super) fn candidates(&self) -> Vec<Candidate> {
        let timed = self.all.device > Nanos::default();
        let mut ordered: Vec<(&Point, u128)> =
            self.points.iter().map(|(point, share)| (point, share.weight(timed))).collect();
        ordered.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        let whole: u128 = ordered.iter().map(|(_, weight)| weight).sum();
        let mut before = 0;
        let mut candidates = Vec::new();
        for (point, weight) in ordered {
            let level = PASSES.iter().filter(|&&percent| before * 100 > whole * percent).count();
            let level = u8::try_from(level).unwrap_or(DEEPEST);
            candidates.push(Candidate::usual(point.clone(), CacheState::Hot, level));
            before += weight;
        }
        candidates
    }

    /// The part of it that some of its points are.
    pub fn share<'p>(&self, points: impl Iterator<Item = &'p Point>) -> Share {
        let mut sum = Share::default();
        points.filter_map(|point| self.points.get(point)).for_each(|share| sum.add(*share));
        sum
    }

    /// The part of it that the points of a family are.
    pub fn of_family(&self, family: Family) -> Share {
        self.share(self.points.keys().filter(|point| point.family() == family))
    }

    /// `87.1 % of its 340 calls, 91.2 % of its 12.3 ms on the device`
    pub fn in_words(&self, part: Share) -> String {
        let calls = format!("{} of its {} calls", self.calls(part), self.all.calls);
        match self.time(part) {
            None => format!("{calls} (no times are recorded)"),
            Some(time) => format!("{calls}, {time} of its {} on the device", self.all.device),
        }
    }

    /// `87.1 % of calls, 91.2 % of time`
    pub fn in_short(&self, part: Share) -> String {
        let time = self.time(part).map_or(String::new(), |time| format!(", {time} of time"));
        format!("{} of calls{time}", self.calls(part))
    }

    fn calls(&self, part: Share) -> String {
        percent(part.calls as f64, self.all.calls as f64)
    }

    /// None where no times were recorded.
    fn time(&self, part: Share) -> Option<String> {
        let all = self.all.device;
        (all > Nanos::default()).then(|| percent(part.device.as_f64(), all.as_f64()))
    }
}

fn percent(part: f64, whole: f64) -> String {
    format!("{:.1} %", 100.0 * part / whole.max(1.0))
}

/// The point in the form in which `device` measures it.
///
/// # Errors
/// Why it does not.
fn measurable(point: &Point, catalogue: Catalogue, device: &dyn Device) -> Result<Point, String> {
    if !catalogue.families().contains(&point.family()) {
        return Err(format!("{} cannot be measured on this device", point.family()));
    }
    let mut reason = None;
    for form in forms(point, catalogue) {
        match device.supports_in(&form, CacheState::Hot, Manner::Usual) {
            Ok(()) => return Ok(form),
            Err(SkipReason::Unsupported(why)) => reason = reason.or(Some(why)),
            Err(other) => reason = reason.or(Some(other.to_string())),
        }
    }
    Err(reason.unwrap_or_default())
}

/// The forms a point may be measured in, the best first.
fn forms(point: &Point, catalogue: Catalogue) -> Vec<Point> {
    let laid_out = |product: &GemmPoint, layout| Point::Gemm(GemmPoint { layout, ..*product });
    match (point, catalogue) {
        (Point::Gemm(product), Catalogue::Processor) => {
            vec![laid_out(product, GemmLayout::Unstated)]
        }
        (Point::Gemm(product), Catalogue::Gpu { .. }) => match product.layout {
            GemmLayout::Unstated | GemmLayout::Nt => vec![laid_out(product, GemmLayout::Nt)],
            _ => vec![point.clone(), laid_out(product, GemmLayout::Nt)],
        },
        (Point::Collective(asked), Catalogue::Gpu { links, .. }) => {
            vec![Point::Collective(CollectivePoint { links, ..*asked })]
        }
        _ => vec![point.clone()],
    }
}

#[cfg(test)]
mod tests {
    use kernelgauge_cuda::simulated::SimulatedDevice;
    use kernelgauge_data::{Dtype, MemoryOp, MemoryPoint};
    use kernelgauge_trace::ops::Uncovered;

    use super::*;

    fn line(point: Result<Point, Uncovered>, calls: u64, device: u64) -> Distinct {
        Distinct {
            name: "aten::op".to_owned(),
            shapes: String::new(),
            point,
            calls,
            work: calls,
            device: (device > 0).then(|| Nanos::new(device)),
        }
    }

    fn product(layout: GemmLayout, m: u64) -> Point {
        Point::Gemm(GemmPoint { dtype: Dtype::F32, batch: 1, m, n: 64, k: 64, layout })
    }

    fn fill(columns: u64) -> Point {
        let (op, dtype) = (MemoryOp::Fill, Dtype::F32);
        Point::Memory(MemoryPoint { op, dtype, rows: 1, columns })
    }

    #[test]
    fn layouts_that_are_not_told_apart_are_one_point_and_the_rest_is_counted() {
        let lines = [
            line(Ok(product(GemmLayout::Nt, 8)), 3, 600),
            line(Ok(product(GemmLayout::Tn, 8)), 1, 300),
            line(Err(Uncovered::NoFamily), 2, 100),
        ];
        let device = SimulatedDevice::new(0);
        let workload = Workload::of(&lines, Catalogue::Processor, &device);
        let part = Share { calls: 4, device: Nanos::new(900) };
        let point = product(GemmLayout::Unstated, 8);
        assert_eq!(workload.points, BTreeMap::from([(point.clone(), part)]));
        let rest = Share { calls: 2, device: Nanos::new(100) };
        assert_eq!(workload.left_out, [("no family covers it".to_owned(), rest)]);
        assert_eq!(workload.share([&point].into_iter()), part);
        let words = workload.in_words(part);
        assert!(words.starts_with("66.7 % of its 6 calls, 90.0 % of its "), "{words}");
    }

    #[test]
    fn gpus_measure_recorded_layouts_and_nt_where_none_was() {
        let (links, routes) = (kernelgauge_data::Links::Nvswitch, Default::default());
        let gpus = Catalogue::Gpu { count: 8, links, nodes: 1, routes };
        let unstated = product(GemmLayout::Unstated, 8);
        assert_eq!(forms(&unstated, gpus), [product(GemmLayout::Nt, 8)]);
        let tn = product(GemmLayout::Tn, 8);
        assert_eq!(forms(&tn, gpus), [tn.clone(), product(GemmLayout::Nt, 8)]);
    }

    #[test]
    fn the_longest_ops_come_in_the_first_pass() {
        let lines: Vec<Distinct> = [(1_024, 900), (2_048, 80), (4_096, 15), (8_192, 5)]
            .map(|(columns, device)| line(Ok(fill(columns)), 1, device))
            .to_vec();
        let workload = Workload::of(&lines, Catalogue::Processor, &SimulatedDevice::new(0));
        let levels: Vec<(Point, u8)> =
            workload.candidates().into_iter().map(|c| (c.point, c.level)).collect();
        // 0, 90.0, 98 and 99.5 % come before them.
        assert_eq!(
            levels,
            [(fill(1_024), 0), (fill(2_048), 0), (fill(4_096), 1), (fill(8_192), 2)]
        );
    }

    #[test]
    fn without_times_calls_count() {
        let lines = [line(Ok(fill(1_024)), 1, 0), line(Ok(fill(2_048)), 999, 0)];
        let workload = Workload::of(&lines, Catalogue::Processor, &SimulatedDevice::new(0));
        let candidates = workload.candidates();
        assert_eq!(candidates[0].point, fill(2_048));
        assert_eq!(candidates[1].level, 2);
        let words = workload.in_words(workload.of_family(Family::Memory));
        assert_eq!(words, "100.0 % of its 1000 calls (no times are recorded)");
    }
}
