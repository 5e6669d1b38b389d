//! Rows of other variants that share the costs of one: more data for the same constants.
//!
//! On a processor an embedding bag takes the same steps however its indices are drawn, its
//! backward pass the same for every optimizer but for what the optimizer adds, and a
//! memory-bound op the same whether its operands are in a cache or not. On a GPU a memory-bound
//! op moves bytes at the same rates whatever its elements are, and a collective as many bytes in
//! any dtype. Variants that are measured at the same shapes would tell each other about points
//! that are held out, so a shape
//! that is held out of a variant is held out of its kin as well.

use std::collections::BTreeSet;

use kernelgauge_data::{Machine, Point};

use super::groups::Group;
use crate::rows::Row;
use crate::terms::shares_costs;

/// What a shape is told apart by: the integers that kin have in common.
type Shape = [u64; 5];

/// Rows of variants that share the costs of one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Kin<'data> {
    rows: Vec<Row<'data>>,
    /// Shapes that the variant itself was measured at.
    own: BTreeSet<Shape>,
    /// Rows of collectives on other machines, which may guide its curves.
    guides: Vec<Vec<Row<'data>>>,
}

impl<'data> Kin<'data> {
    /// The kin of `group` among `groups`.
    pub(crate) fn of(group: &Group<'data>, groups: &[Group<'data>], machine: &Machine) -> Self {
        let Some(first) = group.rows.first() else { return Kin::default() };
        let shares = |other: &&Group<'data>| {
            let Some(kin) = other.rows.first() else { return false };
            let [one, two] = [(first.point, group.cache), (kin.point, other.cache)];
            (&other.name, other.cache) != (&group.name, group.cache)
                && shares_costs(one, two, machine)
        };
        let rows: Vec<Row<'data>> =
            groups.iter().filter(shares).flat_map(|other| other.rows.iter().cloned()).collect();
        let own = group.rows.iter().filter_map(|row| shape(row.point)).collect();
        Kin { rows, own, guides: Vec::new() }
    }

    /// The same beside rows of collectives on other machines, a set for each.
    pub(crate) fn guided_by(self, guides: Vec<Vec<Row<'data>>>) -> Self {
        Kin { guides, ..self }
    }

    /// Rows of collectives on other machines, a slice for each.
    pub(super) fn guides(&self) -> Vec<&[Row<'data>]> {
        self.guides.iter().map(Vec::as_slice).collect()
    }

    /// The same rows, all of which may stand beside any others: what is held out of one variant
    /// is then known of its kin.
    pub(crate) fn known(self) -> Self {
        Kin { own: BTreeSet::new(), ..self }
    }

    /// The rows that may be fitted together with `kept`.
    pub(super) fn beside(&self, kept: &[Row<'_>]) -> Vec<Row<'data>> {
        if self.rows.is_empty() {
            return Vec::new();
        }
        let kept: BTreeSet<Shape> = kept.iter().filter_map(|row| shape(row.point)).collect();
        let is_free = |row: &&Row<'_>| {
            shape(row.point)
                .is_some_and(|shape| !self.own.contains(&shape) || kept.contains(&shape))
        };
        self.rows.iter().filter(is_free).cloned().collect()
    }

    /// The rows at shapes that are held out, and no others: what is known where kin were
    /// measured at just the shapes that the variant was not.
    pub(super) fn complement(&self, kept: &[Row<'_>]) -> Vec<Row<'data>> {
        let kept: BTreeSet<Shape> = kept.iter().filter_map(|row| shape(row.point)).collect();
        let is_out = |row: &&Row<'_>| {
            shape(row.point)
                .is_some_and(|shape| self.own.contains(&shape) && !kept.contains(&shape))
        };
        self.rows.iter().filter(is_out).cloned().collect()
    }
}

fn shape(point: &Point) -> Option<Shape> {
    match point {
        Point::Embedding(bag) => Some([bag.tables, bag.rows, bag.dim, bag.batch, bag.pooling]),
        Point::Memory(op) => Some([op.rows, op.columns, 0, 0, 0]),
        Point::Collective(op) => Some([op.ranks, op.nodes, op.bytes, 0, 0]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use kernelgauge_data::{
        Conditions, Direction, Distribution, Dtype, EmbeddingPoint, Flags, Hardware, Links,
        Measurement, MemoryOp, MemoryPoint, Nanos, Optimizer, Outcome, Record,
    };

    use super::*;
    use crate::fit::groups;

    fn record(direction: Direction, batch: u64, distribution: Distribution) -> Record {
        Record {
            point: Point::Embedding(EmbeddingPoint {
                direction,
                optimizer: Optimizer::Sgd,
                dtype: Dtype::F32,
                tables: 1,
                rows: 1000,
                dim: 16,
                batch,
                pooling: 1,
                distribution,
            }),
            conditions: Conditions::default(),
            outcome: Outcome::Measured(Measurement::stated(Nanos::new(1000 + batch))),
            flags: Flags::NONE,
        }
    }

    #[test]
    fn shapes_held_out_of_a_variant_are_held_out_of_its_kin() {
        let zipf = Distribution::Zipf { exponent_milli: 1000 };
        let mut records: Vec<Record> =
            [8, 16].map(|batch| record(Direction::Forward, batch, Distribution::Uniform)).into();
        records.extend([8, 16, 32].map(|batch| record(Direction::Forward, batch, zipf)));
        records.push(record(Direction::Backward, 64, zipf));
        let machine = Machine {
            name: "host".to_owned(),
            device: "processor".to_owned(),
            count: 1,
            links: Links::Unstated,
            software: [("gemm".to_owned(), "0.19.0".to_owned())].into(),
            hardware: Hardware::default(),
        };
        let groups = groups(&records);
        let uniform = groups.iter().find(|group| group.name.ends_with("uniform")).unwrap();
        let kin = Kin::of(uniform, &groups, &machine);
        let batches = |kept: &[Row<'_>]| -> Vec<u64> {
            kin.beside(kept).iter().map(|row| row.parameters[3]).collect()
        };
        assert_eq!(batches(&uniform.rows), [8, 16, 32]);
        assert_eq!(batches(&uniform.rows[..1]), [8, 32]);
    }

    #[test]
    fn memory_bound_ops_of_a_gpu_share_their_traffic_over_element_types() {
        let op = |op, dtype, rows: u64| Record {
            point: Point::Memory(MemoryPoint { op, dtype, rows, columns: 64 }),
            conditions: Conditions::default(),
            outcome: Outcome::Measured(Measurement::stated(Nanos::new(1000 + rows))),
            flags: Flags::NONE,
        };
        let records: Vec<Record> = [
            (MemoryOp::Softmax, Dtype::F32, 8),
            (MemoryOp::Softmax, Dtype::F32, 16),
            (MemoryOp::Softmax, Dtype::F16, 16),
            (MemoryOp::Gelu, Dtype::F32, 32),
        ]
        .map(|(kind, dtype, rows)| op(kind, dtype, rows))
        .into();
        let machine = Machine {
            name: "made up".to_owned(),
            device: "GPU".to_owned(),
            count: 1,
            links: Links::Unstated,
            software: Default::default(),
            hardware: Hardware::default(),
        };
        let groups = groups(&records);
        let half = groups.iter().find(|group| group.name == "softmax/f16").unwrap();
        let kin = Kin::of(half, &groups, &machine).beside(&half.rows);
        let rows: Vec<u64> = kin.iter().map(|row| row.parameters[0]).collect();
        assert_eq!(rows, [8, 16]);
    }
}
