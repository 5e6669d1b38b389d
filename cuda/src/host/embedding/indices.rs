//! The indices of an embedding bag, drawn as the point says, one stream per table.

use kernelgauge_data::{Distribution, EmbeddingPoint};
use rayon::prelude::*;

use super::reuse;
use super::zipf::Zipf;
use crate::random::Random;

/// Streams from here on are those of tables; the ones below are those of operands.
const FIRST_TABLE_STREAM: u64 = 16;

/// Fills `indices` (tables, then samples, then bags) and `offsets` (where each bag begins, and
/// the end) from `seed`. Runs on the current pool; its result does not depend on the threads.
pub fn fill(point: &EmbeddingPoint, seed: u64, indices: &mut [i64], offsets: &mut [i64]) {
    for (bag, offset) in offsets.iter_mut().enumerate() {
        *offset = (bag as u64 * point.pooling) as i64;
    }
    let per_table = point.lookups() as usize;
    if per_table == 0 {
        return;
    }
    indices.par_chunks_mut(per_table).enumerate().for_each(|(table, indices)| {
        let mut random = Random::stream(seed, FIRST_TABLE_STREAM + table as u64);
        fill_table(point, indices, &mut random);
    });
}

fn fill_table(point: &EmbeddingPoint, indices: &mut [i64], random: &mut Random) {
    match &point.distribution {
        Distribution::Uniform => {
            indices.fill_with(|| random.below(point.rows) as i64);
        }
        Distribution::Zipf { exponent_milli } => {
            let law = Zipf::new(point.rows, f64::from(*exponent_milli) / 1e3);
            indices.fill_with(|| law.draw(random) as i64 - 1);
        }
        Distribution::Reuse(bins) => {
            let distinct = point.distinct_rows().round() as u64;
            let drawn = reuse::draw(bins, distinct, point.lookups(), point.rows, random);
            for (index, row) in indices.iter_mut().zip(drawn) {
                *index = row as i64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use kernelgauge_data::point::REUSE_BINS;
    use kernelgauge_data::{Direction, Dtype, Optimizer};

    use super::*;

    fn draw(distribution: Distribution, seed: u64) -> (Vec<i64>, EmbeddingPoint) {
        let point = EmbeddingPoint {
            direction: Direction::Forward,
            optimizer: Optimizer::Sgd,
            dtype: Dtype::F32,
            tables: 3,
            rows: 2_000,
            dim: 4,
            batch: 100,
            pooling: 20,
            distribution,
        };
        let (mut indices, mut offsets) = (vec![0; 6_000], vec![0; 301]);
        fill(&point, seed, &mut indices, &mut offsets);
        assert_eq!((offsets[0], offsets[1], offsets[300]), (0, 20, 6_000));
        assert!(indices.iter().all(|index| (0..2_000).contains(index)));
        (indices, point)
    }

    #[test]
    fn every_law_is_seeded_and_touches_the_expected_number_of_rows() {
        let mut bins = [0; REUSE_BINS];
        bins[..3].copy_from_slice(&[500_000, 300_000, 200_000]);
        for distribution in [
            Distribution::Uniform,
            Distribution::Zipf { exponent_milli: 1050 },
            Distribution::Reuse(bins),
        ] {
            let (indices, point) = draw(distribution, 1);
            assert_eq!(indices, draw(distribution, 1).0);
            assert_ne!(indices, draw(distribution, 2).0);
            assert_ne!(indices[..2_000], indices[2_000..4_000]);
            let distinct: HashSet<&i64> = indices[..2_000].iter().collect();
            let ratio = distinct.len() as f64 / point.distinct_rows();
            assert!((0.93..1.07).contains(&ratio), "{distribution}: {ratio}");
        }
    }
}
