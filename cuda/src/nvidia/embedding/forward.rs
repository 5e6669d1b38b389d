//! Gather and pool: one launch, compared bag by bag.

use kernelgauge_data::{EmbeddingPoint, Failure};

use super::super::loaded::LoadedKernels;
use super::super::memory::DeviceBuffer;
use super::super::operand::room;
use super::super::sequence::{Check, Sequence};
use super::super::stream::Stream;
use super::{Tables, lengths};
use crate::host::compare::{Deviation, MOST_COMPARED, sample};

/// Bags that are read one by one of a result, at most.
const MOST_BAGS: usize = 1024;
/// What results hold before: no number.
const SPOILED: u8 = 0xff;

/// A forward pass with its operands.
#[derive(Debug)]
pub struct Pooled {
    tables: Tables,
    out: DeviceBuffer,
}

/// `point`, whose direction is forward, with its operands in place.
///
/// # Errors
/// When there is no room or no kernel, or what the driver says.
pub fn forward(
    point: &EmbeddingPoint,
    stream: &Stream,
    kernels: &mut LoadedKernels,
    seed: u64,
) -> Result<Sequence<Pooled>, Failure> {
    let lengths = lengths(point)?;
    let tables = Tables::new(point, &lengths, stream, seed)?;
    let out = room(stream.context(), tables.element, lengths.bags)?;
    let name = format!("embedding_forward_{}_i64", point.dtype);
    let lanes = tables.lanes();
    let extent = [point.batch, point.tables, u64::from(lanes)];
    let arguments = [
        tables.weights.buffer().into(),
        (&tables.rows).into(),
        (&tables.bag_offsets).into(),
        (&tables.weight_offsets).into(),
        (&tables.dim_offsets).into(),
        (&out).into(),
        point.tables.into(),
        point.batch.into(),
        lanes.into(),
    ];
    let launch = kernels.launch(&name, &extent, &arguments)?;
    stream.synchronize()?;
    Ok(Sequence::new(name, vec![launch], Pooled { tables, out }))
}

impl Check for Pooled {
    fn spoil(&mut self) -> Result<(), Failure> {
        self.out.clear(SPOILED)
    }

    fn compare(&mut self) -> Result<(), Failure> {
        let Pooled { tables, out } = self;
        let lookups = tables.lookups();
        let cost = (tables.point.pooling.max(1) * tables.point.dim) as usize;
        let most = (MOST_COMPARED / cost.max(1)).clamp(2, MOST_BAGS);
        let mut deviation = Deviation::default();
        for bag in sample(lookups.bags(), most, tables.seed) {
            let found = tables.row_of(out, bag)?;
            let precision = tables.element.precision();
            lookups.check_bag(&&tables.weights, bag, &found, precision, &mut deviation);
        }
        deviation.verdict()
    }
}
