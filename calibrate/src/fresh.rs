//! New random points inside the domain of a data set, for checking its model against reality.
//!
//! A point is drawn evenly on a logarithmic scale within the range of every parameter of its
//! variant. Boxes have corners that no sweep visits (the most rows with the most columns), so
//! a point also has no more work and needs no more memory than the largest that was measured.
//!
//! Left to others: measuring them and comparing (`commands::evaluate_fresh`).

use std::collections::{BTreeMap, BTreeSet};

use kernelgauge_cuda::Device;
use kernelgauge_cuda::random::Random;
use kernelgauge_data::point::VariantName;
use kernelgauge_data::{CacheState, Distribution, Family, Point, Record};

use crate::plan::log_between;

/// Draws before a variant is given up: its domain has no room for another point.
const TRIES: u32 = 400;

/// A point and the state of its operands.
pub type Fresh = (Point, CacheState);

/// What was measured of one variant.
#[derive(Debug)]
struct Measured<'r> {
    points: Vec<&'r Point>,
    cache: CacheState,
    low: Vec<u64>,
    high: Vec<u64>,
    most_bytes: f64,
    most_flops: f64,
    most_memory: u64,
}

/// Draws `count` points of `family` that `records` do not have, the same number of every
/// variant as far as that divides. `accept` may refuse points.
pub fn draw(
    records: &[Record],
    family: Family,
    count: usize,
    device: &dyn Device,
    random: &mut Random,
    accept: &dyn Fn(&Fresh) -> bool,
) -> Vec<Fresh> {
    let variants = variants(records, family, device);
    let mut known: BTreeSet<Fresh> = records
        .iter()
        .filter(|record| record.point.family() == family)
        .map(|record| (record.point.clone(), record.conditions.cache))
        .collect();
    let mut drawn = Vec::new();
    if variants.is_empty() {
        return drawn;
    }
    // Starting at a random variant, so that few points do not always speak for the same ones.
    let start = random.below(variants.len() as u64) as usize;
    for turn in 0..count.max(variants.len()) {
        if drawn.len() == count {
            break;
        }
        let variant = &variants[(start + turn) % variants.len()];
        let fresh = (0..TRIES).find_map(|_| {
            let fresh = (variant.draw(random)?, variant.cache);
            let fits = variant.has_room_for(&fresh, device);
            (fits && !known.contains(&fresh) && accept(&fresh)).then_some(fresh)
        });
        if let Some(fresh) = fresh {
            known.insert(fresh.clone());
            drawn.push(fresh);
        }
    }
    drawn
}

/// The variants of `family` with a time that may be fitted and that `device` can execute.
fn variants<'r>(records: &'r [Record], family: Family, device: &dyn Device) -> Vec<Measured<'r>> {
    let mut variants: BTreeMap<(VariantName, CacheState), Measured<'r>> = BTreeMap::new();
    for record in records {
        let (point, cache) = (&record.point, record.conditions.cache);
        let usable = point.family() == family && record.fit_time().is_some();
        if !usable || device.supports(point, cache).is_err() {
            continue;
        }
        let parameters = point.parameters();
        let measured = variants.entry((point.variant(), cache)).or_insert_with(|| Measured {
            points: Vec::new(),
            cache,
            low: parameters.to_vec(),
            high: parameters.to_vec(),
            most_bytes: 0.0,
            most_flops: 0.0,
            most_memory: 0,
        });
        measured.add(point, device);
    }
    variants.into_values().collect()
}

impl<'r> Measured<'r> {
    fn add(&mut self, point: &'r Point, device: &dyn Device) {
        for ((low, high), value) in
            self.low.iter_mut().zip(&mut self.high).zip(point.parameters().iter())
        {
            *low = (*low).min(*value);
            *high = (*high).max(*value);
        }
        let work = point.work();
        self.most_bytes = self.most_bytes.max(work.bytes());
        self.most_flops = self.most_flops.max(work.flops);
        self.most_memory = self.most_memory.max(device.memory_needed(point, self.cache).get());
        self.points.push(point);
    }

    fn has_room_for(&self, (point, cache): &Fresh, device: &dyn Device) -> bool {
        let work = point.work();
        point.check().is_ok()
            && device.supports(point, *cache).is_ok()
            && work.bytes() <= self.most_bytes
            && work.flops <= self.most_flops
            && device.memory_needed(point, *cache).get() <= self.most_memory
    }

    /// A point of the box; what is not a parameter is taken from a measured point.
    fn draw(&self, random: &mut Random) -> Option<Point> {
        let example = self.points.get(random.below(self.points.len() as u64) as usize)?;
        let mut value = |index: usize| {
            log_between(self.low[index].max(1), self.high[index].max(1), random.unit())
        };
        let mut point = (*example).clone();
        match &mut point {
            Point::Gemm(gemm) => {
                [gemm.batch, gemm.m, gemm.n, gemm.k] = [value(0), value(1), value(2), value(3)];
                // 8-bit operands are multiplied where their sides are multiples of 16.
                if gemm.dtype.size() == 1 {
                    [gemm.n, gemm.k] = [gemm.n, gemm.k].map(|side| side / 16 * 16);
                }
            }
            Point::Memory(memory) => {
                [memory.rows, memory.columns] = [value(0), value(1)];
                // Concat joins two halves.
                if memory.op == kernelgauge_data::MemoryOp::Concat {
                    memory.columns &= !1;
                }
            }
            Point::Copy(copy) => copy.bytes = value(0),
            Point::Embedding(bag) => {
                bag.tables = value(0);
                bag.rows = value(1);
                // Rows are aligned to 16 bytes wherever embeddings are used in earnest.
                bag.dim = value(2) / 4 * 4;
                bag.batch = value(3);
                bag.pooling = value(4);
                if let Distribution::Zipf { exponent_milli } = &mut bag.distribution {
                    *exponent_milli = u32::try_from(value(5)).ok()?;
                }
            }
            Point::Collective(collective) => {
                // Whole parts of whole elements; ranks between those measured are no communicator.
                let unit = collective.ranks * collective.dtype.size();
                collective.bytes = (value(2) / unit * unit).max(unit);
            }
            Point::Attention(_) | Point::Custom(_) => return None,
        }
        Some(point)
    }
}

#[cfg(test)]
mod tests {
    use kernelgauge_cuda::simulated::SimulatedDevice;
    use kernelgauge_data::{Conditions, Flags, Measurement, Nanos, Outcome};

    use super::*;
    use crate::plan::Plan;

    fn records() -> Vec<Record> {
        let first_pass = Plan::new(0).points.into_iter().filter(|c| c.level == 0);
        first_pass
            .map(|candidate| Record {
                point: candidate.point,
                conditions: Conditions { cache: candidate.cache, ..Conditions::default() },
                outcome: Outcome::Measured(Measurement::stated(Nanos::new(1_000))),
                flags: Flags::NONE,
            })
            .collect()
    }

    #[test]
    fn drawn_points_are_new_valid_and_within_what_was_measured() {
        let (records, device) = (records(), SimulatedDevice::new(0));
        for family in crate::plan::Catalogue::Processor.families().iter().copied() {
            let drawn = draw(&records, family, 30, &device, &mut Random::new(1), &|_| true);
            assert_eq!(drawn.len(), 30, "{family}");
            for (point, cache) in &drawn {
                point.check().unwrap();
                assert_eq!(point.family(), family);
                let same = |r: &&Record| r.point == *point && r.conditions.cache == *cache;
                assert!(records.iter().find(same).is_none(), "{point} was measured");
                let of_variant = records.iter().filter(|r| r.point.variant() == point.variant());
                let most = of_variant.map(|r| r.point.work().bytes()).fold(0.0, f64::max);
                assert!(point.work().bytes() <= most, "{point}");
            }
        }
    }

    #[test]
    fn the_seed_decides_and_refusals_are_heeded() {
        let (records, device) = (records(), SimulatedDevice::new(0));
        let drawn = |seed, accept: &dyn Fn(&Fresh) -> bool| {
            draw(&records, Family::Copy, 10, &device, &mut Random::new(seed), accept)
        };
        assert_eq!(drawn(1, &|_| true), drawn(1, &|_| true));
        assert_ne!(drawn(1, &|_| true), drawn(2, &|_| true));
        assert!(drawn(1, &|_| false).is_empty());
        let cold = |fresh: &Fresh| fresh.1 == CacheState::Cold;
        assert!(drawn(1, &cold).iter().all(|fresh| fresh.1 == CacheState::Cold));
        assert!(draw(&[], Family::Gemm, 5, &device, &mut Random::new(1), &|_| true).is_empty());
    }
}
