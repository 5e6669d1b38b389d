//! Which points a run measures, and in which order: decided before any device is touched.
//!
//! A [`Plan`] is a pure function of catalogue and seed: the points of all families, in passes from
//! coarse to fine. Within a pass the points of every variant are shuffled and spread evenly, so
//! that whatever prefix is measured before time runs out covers every family and every corner of
//! the domain. `--ops`, `--quick` and `--budget` select from the plan and never change it, so
//! runs that select differently continue each other.
//!
//! A plan may be made from a recorded workload in place of the catalogue (`workload`).
//!
//! Left to others: measuring what fits the device (`sweep`), and how the plan is shown (`show`).

mod catalogue;
mod collective;
mod copy;
mod embedding;
pub mod estimate;
mod gemm;
mod gpu;
mod memory;
pub mod order;
mod pairs;
mod scatter;
pub mod show;
pub mod workload;

use std::collections::BTreeMap;

use kernelgauge_cuda::Device;
use kernelgauge_data::{Bytes, CacheState, Family, Manner, Nanos, Point, SkipReason, fields};
use sha2::{Digest as _, Sha256};

pub use catalogue::{Catalogue, Routes};
pub use scatter::log_between;
use workload::Workload;

/// The last pass.
pub const DEEPEST: u8 = 2;

/// One execution may take this long in the first pass, and this long in the second.
const LONGEST_EXECUTION: [Nanos; 2] = [Nanos::new(20_000_000), Nanos::new(120_000_000)];

/// A point a family would like measured, with the pass it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The point.
    pub point: Point,
    /// Hot or cold operands.
    pub cache: CacheState,
    /// How it is executed.
    pub manner: Manner,
    /// The pass: 0 is the coarse one that covers the domain.
    pub level: u8,
}

impl Candidate {
    /// `point` executed in the usual manner.
    pub const fn usual(point: Point, cache: CacheState, level: u8) -> Self {
        Candidate { point, cache, manner: Manner::Usual, level }
    }

    /// The memory it needs on `device`, of which so much is `free`.
    ///
    /// # Errors
    /// Why the device cannot measure it.
    pub fn memory_on(&self, device: &dyn Device, free: Bytes) -> Result<Bytes, SkipReason> {
        let Candidate { point, cache, manner, .. } = self;
        device.supports_in(point, *cache, *manner)?;
        let needs = device.memory_needed(point, *cache);
        if needs > free { Err(SkipReason::OutOfMemory { needs, free }) } else { Ok(needs) }
    }
}

/// The points of all families, in the order they are measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The points; a journal refers to them by index.
    pub points: Vec<Candidate>,
    /// Seed of the order and of the operands.
    pub seed: u64,
    /// Where the points come from.
    pub catalogue: Catalogue,
    /// What they come from instead, where a workload was given.
    pub workload: Option<Workload>,
}

/// Which part of a plan a run measures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// Families to measure.
    pub families: Vec<Family>,
    /// Passes up to and including this one.
    pub deepest: u8,
}

impl Plan {
    /// The families that any catalogue has points of; only GPUs have the last two, of which
    /// launches are the custom one.
    pub const FAMILIES: [Family; 6] = [
        Family::Gemm,
        Family::Embedding,
        Family::Memory,
        Family::Copy,
        Family::Collective,
        Family::Custom,
    ];

    /// The plan of `seed` for a processor.
    pub fn new(seed: u64) -> Self {
        Plan::of(Catalogue::Processor, seed)
    }

    /// The plan of `seed` from `catalogue`.
    pub fn of(catalogue: Catalogue, seed: u64) -> Self {
        let mut lowest: BTreeMap<(Point, CacheState, Manner), u8> = BTreeMap::new();
        for candidate in catalogue.candidates() {
            let level = candidate.level.max(pass_by_length(&candidate.point, catalogue));
            let key = (candidate.point, candidate.cache, candidate.manner);
            lowest.entry(key).and_modify(|known| *known = level.min(*known)).or_insert(level);
        }
        let points = lowest
            .into_iter()
            .map(|((point, cache, manner), level)| Candidate { point, cache, manner, level })
            .collect();
        Plan { points: order::spread(points, seed), seed, catalogue, workload: None }
    }

    /// The plan of `seed` for a workload alone, on the devices that `catalogue` is for.
    pub fn of_workload(workload: Workload, catalogue: Catalogue, seed: u64) -> Self {
        let points = order::spread(workload.candidates(), seed);
        Plan { points, seed, catalogue, workload: Some(workload) }
    }

    /// What the points of a family are chosen for.
    fn why(&self, family: Family) -> String {
        match &self.workload {
            None => self.catalogue.why(family).to_owned(),
            Some(workload) => {
                let words = workload.in_short(workload.of_family(family));
                format!("of the workload: {words}")
            }
        }
    }

    /// The guess of one execution of the point at `index`.
    pub fn guessed_execution(&self, index: usize) -> Nanos {
        self.catalogue.rates().execution(&self.points[index].point)
    }

    /// The guess of everything that happens to the point at `index`, sampled for at most
    /// `limit`.
    pub fn guessed_whole(&self, index: usize, limit: Nanos) -> Nanos {
        let Candidate { point, cache, .. } = &self.points[index];
        self.catalogue.rates().whole(point, *cache, limit)
    }

    /// sha256 over every point in order: two plans with the same hash are the same plan.
    pub fn hash(&self) -> String {
        let mut hasher = Sha256::new();
        for Candidate { point, cache, manner, .. } in &self.points {
            hasher.update(point.family().name());
            for (column, value) in fields::write_point(point) {
                hasher.update(format!(",{column}={value}"));
            }
            hasher.update(format!(",cache={}", cache.name()));
            if *manner != Manner::Usual {
                hasher.update(format!(",manner={manner}"));
            }
            hasher.update("\n");
        }
        hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Indices of the selected points, in the order they are measured.
    pub fn select(&self, selection: &Selection) -> Vec<usize> {
        let chosen = |candidate: &Candidate| {
            candidate.level <= selection.deepest
                && selection.families.contains(&candidate.point.family())
        };
        (0..self.points.len()).filter(|index| chosen(&self.points[*index])).collect()
    }
}

/// The earliest pass that a point of this length may be in.
fn pass_by_length(point: &Point, catalogue: Catalogue) -> u8 {
    let execution = catalogue.rates().execution(point);
    LONGEST_EXECUTION.iter().filter(|limit| execution > **limit).count() as u8
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use kernelgauge_data::Links;

    use super::*;

    #[test]
    fn the_plan_is_a_pure_function_of_the_seed() {
        let plan = Plan::new(7);
        assert_eq!(plan, Plan::new(7));
        assert_eq!(plan.hash(), Plan::new(7).hash());
        assert_ne!(plan.hash(), Plan::new(8).hash());
        let sorted = |plan: Plan| -> BTreeSet<(Point, CacheState)> {
            plan.points.into_iter().map(|c| (c.point, c.cache)).collect()
        };
        assert_eq!(sorted(plan), sorted(Plan::new(8)));
    }

    #[test]
    fn every_point_is_valid_and_planned_once() {
        let plan = Plan::new(0);
        let mut seen = BTreeSet::new();
        for Candidate { point, cache, .. } in &plan.points {
            point.check().unwrap();
            assert!(seen.insert((point, cache)), "{point} is planned twice");
        }
        assert!((1_000..4_000).contains(&plan.points.len()), "{}", plan.points.len());
    }

    #[test]
    fn passes_come_one_after_the_other_and_the_first_sees_the_limits_of_every_variant() {
        let plan = Plan::new(3);
        assert!(plan.points.is_sorted_by_key(|candidate| candidate.level));
        let ranges = |deepest: u8| {
            let mut ranges: BTreeMap<_, Vec<(u64, u64)>> = BTreeMap::new();
            for candidate in plan.points.iter().filter(|c| c.level <= deepest) {
                let parameters = candidate.point.parameters();
                let key = (candidate.point.family(), candidate.point.variant(), candidate.cache);
                let range =
                    ranges.entry(key).or_insert_with(|| vec![(u64::MAX, 0); parameters.len()]);
                for (range, value) in range.iter_mut().zip(parameters.iter()) {
                    *range = (range.0.min(*value), range.1.max(*value));
                }
            }
            ranges
        };
        let (coarse, whole) = (ranges(0), ranges(DEEPEST));
        let families = |ranges: &BTreeMap<(Family, _, _), _>| -> BTreeSet<Family> {
            ranges.keys().map(|key| key.0).collect()
        };
        assert_eq!(families(&coarse), families(&whole));
        for (key, whole) in whole.iter().filter(|(key, _)| key.0 == Family::Gemm) {
            assert_eq!(&coarse[key], whole, "{key:?}");
        }
    }

    #[test]
    fn any_prefix_of_the_first_pass_has_every_variant() {
        let plan = Plan::new(1);
        let first: Vec<_> = plan.points.iter().filter(|candidate| candidate.level == 0).collect();
        let variants = |part: &[&Candidate]| -> BTreeSet<_> {
            part.iter().map(|c| (c.point.family(), c.point.variant(), c.cache)).collect()
        };
        let third = &first[..first.len() / 3];
        assert_eq!(variants(third), variants(&first));
    }

    #[test]
    fn a_gpu_has_a_plan_of_its_own_with_every_route_of_a_copy() {
        let (links, routes) = (Links::Nvswitch, Routes::default());
        let plan = Plan::of(Catalogue::Gpu { count: 8, links, nodes: 1, routes }, 0);
        for Candidate { point, .. } in &plan.points {
            point.check().unwrap();
        }
        let first = plan.points.iter().filter(|candidate| candidate.level == 0);
        let variants: BTreeSet<String> =
            first.map(|c| format!("{} {}", c.point.variant().as_str(), c.cache.name())).collect();
        for variant in ["h2d/pinned hot", "d2h/pageable hot", "d2d/pageable cold", "fill/f32 hot"] {
            assert!(variants.contains(variant), "{variant} is not in {variants:?}");
        }
        assert_ne!(plan.hash(), Plan::new(0).hash());
    }

    #[test]
    fn selections_keep_the_order_and_nest() {
        let plan = Plan::new(1);
        let select = |families: &[Family], deepest| {
            plan.select(&Selection { families: families.to_vec(), deepest })
        };
        let quick = select(&Plan::FAMILIES, 0);
        let all = select(&Plan::FAMILIES, DEEPEST);
        assert_eq!(all.len(), plan.points.len());
        assert_eq!(quick, all[..quick.len()]);
        assert!(select(&[Family::Copy], 0).len() < quick.len());
        assert!(select(&[], DEEPEST).is_empty());
    }
}
