//! Scatter gradients and update rows: keys, their sort, and the updates, all of it timed, as on
//! the processor.
//!
//! An update changes the tables, and the next execution goes on from there. So the rows to be
//! compared are read before the execution that is verified, and again after it.

use std::collections::HashMap;

use kernelgauge_data::{EmbeddingPoint, Failure, Optimizer};

use super::super::element::Element;
use super::super::kernels::geometry::{KEY_LANES, SORT_TILE};
use super::super::loaded::LoadedKernels;
use super::super::memory::DeviceBuffer;
use super::super::module::{Argument, Launch};
use super::super::operand::{Operand, room};
use super::super::sequence::{Check, Sequence};
use super::super::stream::Stream;
use super::{DIGIT_BITS, DIGITS, Tables, lengths, passes};
use crate::host::compare::Deviation;
use crate::host::embedding::reference::Row;
use crate::host::embedding::update::{RATE, ROOT_FLOOR};

/// A backward pass with its operands.
#[derive(Debug)]
pub struct Updated {
    tables: Tables,
    gradients: Operand,
    squares: Option<DeviceBuffer>,
    sorting: Sorting,
    before: HashMap<usize, Row>,
}

/// What the sort of the lookups works on.
#[derive(Debug)]
struct Sorting {
    number: u64,
    keys: [DeviceBuffer; 2],
    counts: DeviceBuffer,
    totals: DeviceBuffer,
    /// The rows that are looked up too often for a group of lanes, behind their number.
    long_runs: DeviceBuffer,
}

/// `point`, whose direction is backward, with its operands in place.
///
/// # Errors
/// When there is no room or no kernel, or what the driver says.
pub fn backward(
    point: &EmbeddingPoint,
    stream: &Stream,
    kernels: &mut LoadedKernels,
    seed: u64,
) -> Result<Sequence<Updated>, Failure> {
    let lengths = lengths(point)?;
    let tables = Tables::new(point, &lengths, stream, seed)?;
    let context = stream.context();
    let gradients = Operand::random(stream, tables.element, lengths.bags, (seed, 1))?;
    let words = |count: u64| DeviceBuffer::new(context, count.max(1).saturating_mul(8));
    let tiles = lengths.keys.div_ceil(SORT_TILE).max(1);
    let sorting = Sorting {
        number: lengths.keys,
        keys: [words(lengths.keys)?, words(lengths.keys)?],
        counts: words(DIGITS * tiles)?,
        totals: words(DIGITS)?,
        long_runs: words(lengths.keys.saturating_add(1))?,
    };
    let squares = match point.optimizer {
        Optimizer::Sgd | Optimizer::Dense => None,
        Optimizer::RowWiseAdagrad => Some(room(context, Element::F32, lengths.squares)?),
    };
    if let Some(squares) = &squares {
        squares.clear(0)?;
    }
    let updated = Updated { tables, gradients, squares, sorting, before: HashMap::new() };
    let launches = updated.launches(kernels)?;
    stream.synchronize()?;
    let name = format!("embedding_backward_{}_{}_i64", point.optimizer.name(), point.dtype);
    Ok(Sequence::new(name, launches, updated))
}

impl Updated {
    fn launches(&self, kernels: &mut LoadedKernels) -> Result<Vec<Launch>, Failure> {
        let Updated { tables, sorting, .. } = self;
        let point = &tables.point;
        let mut launches = vec![kernels.launch(
            "embedding_keys_i64",
            &[point.batch, point.tables, u64::from(KEY_LANES)],
            &[
                (&tables.rows).into(),
                (&tables.bag_offsets).into(),
                (&tables.row_offsets).into(),
                (&sorting.keys[0]).into(),
                (&sorting.long_runs).into(),
                point.tables.into(),
                point.batch.into(),
            ],
        )?];
        let passes = passes(point.tables * point.rows);
        for pass in 0..passes {
            launches.extend(sorting.pass(pass, kernels)?);
        }
        let [short, long] = ["short", "long"].map(|runs| {
            format!("embedding_backward_{runs}_{}_{}", point.optimizer.name(), point.dtype)
        });
        let (lanes, sorted) = (tables.lanes(), &sorting.keys[passes as usize % 2]);
        let mut arguments = self.update_arguments(sorted);
        launches.push(kernels.launch(&long, &[], &arguments)?);
        arguments.push(lanes.into());
        let extent = [sorting.number, u64::from(lanes)];
        let short = kernels.launch(&short, &extent, &arguments)?;
        // The short runs list the long ones, and so come first.
        launches.insert(launches.len() - 1, short);
        Ok(launches)
    }

    /// What both updates take, in the order of their parameters.
    fn update_arguments(&self, sorted: &DeviceBuffer) -> Vec<Argument> {
        let Updated { tables, gradients, squares, sorting, .. } = self;
        vec![
            sorted.into(),
            sorting.number.into(),
            gradients.buffer().into(),
            tables.weights.buffer().into(),
            // Plain descent reads no squares.
            squares.as_ref().map_or(Argument::Pointer(0), Argument::from),
            (&tables.row_offsets).into(),
            (&tables.weight_offsets).into(),
            (&tables.dim_offsets).into(),
            tables.point.batch.into(),
            (RATE as f32).into(),
            (ROOT_FLOOR as f32).into(),
            (&sorting.long_runs).into(),
        ]
    }

    /// Row number `row` of all tables as it is now.
    fn row(&self, row: usize) -> Result<Row, Failure> {
        let weights = self.tables.row_of(self.tables.weights.buffer(), row)?;
        let mut square = None;
        if let Some(squares) = &self.squares {
            let mut stored = [0; 4];
            squares.read(row * stored.len(), &mut stored)?;
            square = Some(f64::from(f32::from_le_bytes(stored)));
        }
        Ok(Row { weights, square })
    }
}

impl Sorting {
    /// Pass `pass` of the sort by row, from one half of the keys to the other.
    fn pass(&self, pass: u32, kernels: &mut LoadedKernels) -> Result<[Launch; 3], Failure> {
        let [from, to] = if pass.is_multiple_of(2) { [0, 1] } else { [1, 0] };
        let [from, to]: [Argument; 2] = [from, to].map(|half: usize| (&self.keys[half]).into());
        let (counts, totals) = ((&self.counts).into(), (&self.totals).into());
        // The row is in the upper half of a key.
        let (number, shift) = (self.number.into(), (u32::BITS + DIGIT_BITS * pass).into());
        let tiles = self.number.div_ceil(SORT_TILE).max(1).into();
        let extent = [self.number];
        Ok([
            kernels.launch("sort_count", &extent, &[from, counts, number, shift])?,
            kernels.launch("sort_scan", &[], &[counts, totals, tiles])?,
            kernels.launch("sort_scatter", &extent, &[from, to, counts, totals, number, shift])?,
        ])
    }
}

impl Check for Updated {
    /// Takes note of the rows that will be compared.
    fn spoil(&mut self) -> Result<(), Failure> {
        let Tables { point, seed, .. } = &self.tables;
        let rows = self.tables.lookups().chosen_rows(point.tables as usize, *seed);
        self.before = rows
            .into_iter()
            .map(|row| Ok((row, self.row(row)?)))
            .collect::<Result<HashMap<usize, Row>, Failure>>()?;
        Ok(())
    }

    fn compare(&mut self) -> Result<(), Failure> {
        let (lookups, precision) = (self.tables.lookups(), self.tables.element.precision());
        let gradients = lookups.gradients(self.before.keys(), &&self.gradients);
        let mut deviation = Deviation::default();
        for (row, gradient) in &gradients {
            let Some(before) = self.before.get(row) else { continue };
            let rows = [before, &self.row(*row)?];
            let optimizer = self.tables.point.optimizer;
            gradient.check_row(*row, rows, optimizer, precision, &mut deviation);
        }
        deviation.verdict()
    }
}
