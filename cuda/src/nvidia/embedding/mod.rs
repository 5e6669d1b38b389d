//! Embedding bags: tables, lookups and offsets on a GPU, for both directions.
//!
//! Indices are 64-bit, as PyTorch has them, and drawn as on the processor: a seed means the same
//! lookups on both. Tables are equal, as a point has them; the kernels take any.
//!
//! Left to others: what is launched (`forward`, `backward`), what a result must be
//! (`host::embedding::reference`).

mod backward;
mod forward;

use kernelgauge_data::{Direction, EmbeddingPoint, Failure};

pub use backward::backward;
pub use forward::forward;

use super::element::Element;
use super::kernels::geometry::{SORT_TILE, lanes};
use super::memory::DeviceBuffer;
use super::operand::{Operand, uploaded};
use super::stream::Stream;
use crate::host::embedding::reference::Lookups;
use crate::host::embedding::{Lengths, indices, writes_a_gradient};

/// The kernels hold the number of a row, and of a bag, in 32 bits.
const MOST_NUMBERED: u64 = 1 << 32;
/// Digits that one pass of the sort tells apart, and its bits.
const DIGITS: u64 = 256;
const DIGIT_BITS: u32 = 8;

/// Why no kernel executes `point`.
pub fn unsupported(point: &EmbeddingPoint) -> Option<String> {
    match Element::of(point.dtype) {
        Some(Element::F32 | Element::F16) => {}
        _ => return Some(format!("embedding bags of {} on a GPU", point.dtype)),
    }
    if writes_a_gradient(point) {
        return Some("the gradient of a whole table (rows are updated instead)".to_owned());
    }
    let many = |count: u64| point.tables.checked_mul(count).is_none_or(|all| all > MOST_NUMBERED);
    if many(point.rows) || many(point.batch) {
        return Some("more than 2^32 rows or bags in all tables together".to_owned());
    }
    (point.dim >= MOST_NUMBERED).then(|| "rows of 2^32 elements or more".to_owned())
}

/// Bytes of all operands of `point`; none on overflow.
pub fn bytes(point: &EmbeddingPoint) -> Option<u64> {
    let lengths = Lengths::of(point)?;
    let tables = point.tables.checked_add(1)?.checked_mul(3)?;
    let sorting = match point.direction {
        Direction::Forward => 0,
        // Keys twice, the list of long runs, and the counts of every tile.
        Direction::Backward => [
            lengths.keys.checked_mul(3)?.checked_add(1)?,
            DIGITS.checked_mul(lengths.keys.div_ceil(SORT_TILE).checked_add(1)?)?,
        ]
        .into_iter()
        .try_fold(0_u64, u64::checked_add)?,
    };
    [
        (lengths.weights, point.dtype.size()),
        (lengths.bags, point.dtype.size()),
        (lengths.squares, 4),
        (lengths.indices, 8),
        (lengths.offsets, 8),
        (tables, 8),
        (sorting, 8),
    ]
    .into_iter()
    .try_fold(0_u64, |sum, (elements, size)| sum.checked_add(elements.checked_mul(size)?))
}

/// What both directions share.
#[derive(Debug)]
struct Tables {
    point: EmbeddingPoint,
    element: Element,
    weights: Operand,
    /// The lookups on the host, for the reference.
    indices: Vec<i64>,
    offsets: Vec<i64>,
    /// The lookups on the GPU.
    rows: DeviceBuffer,
    bag_offsets: DeviceBuffer,
    /// Rows, elements of a row, and elements of the tables before each (`bags.h`).
    row_offsets: DeviceBuffer,
    dim_offsets: DeviceBuffer,
    weight_offsets: DeviceBuffer,
    seed: u64,
}

impl Tables {
    fn new(
        point: &EmbeddingPoint,
        lengths: &Lengths,
        stream: &Stream,
        seed: u64,
    ) -> Result<Self, Failure> {
        let element = Element::of(point.dtype)
            .ok_or_else(|| Failure::Device(format!("no kernel for {}", point.dtype)))?;
        let (mut indices, mut offsets) = (zeros(lengths.indices)?, zeros(lengths.offsets)?);
        indices::fill(point, seed, &mut indices, &mut offsets);
        let before = |each: u64| -> Vec<u64> { (0..=point.tables).map(|t| t * each).collect() };
        let context = stream.context();
        Ok(Tables {
            point: *point,
            element,
            weights: Operand::random(stream, element, lengths.weights, (seed, 0))?,
            rows: uploaded(context, &indices)?,
            bag_offsets: uploaded(context, &offsets)?,
            row_offsets: uploaded(context, &before(point.rows))?,
            dim_offsets: uploaded(context, &before(point.dim))?,
            weight_offsets: uploaded(context, &before(point.rows * point.dim))?,
            indices,
            offsets,
            seed,
        })
    }

    /// Lanes that work on one row.
    fn lanes(&self) -> u32 {
        lanes(self.point.dim, self.point.dtype.size())
    }

    fn lookups(&self) -> Lookups<'_> {
        Lookups {
            rows: self.point.rows as usize,
            dim: self.point.dim as usize,
            batch: self.point.batch as usize,
            indices: &self.indices,
            offsets: &self.offsets,
        }
    }

    /// Row number `row` of `buffer`, whose rows are as long as those of the tables.
    fn row_of(&self, buffer: &DeviceBuffer, row: usize) -> Result<Vec<f64>, Failure> {
        let bytes = self.point.dim as usize * self.element.bytes();
        let mut stored = vec![0; bytes];
        buffer.read(row * bytes, &mut stored)?;
        Ok(self.element.read(&stored).into_iter().map(f64::from).collect())
    }
}

fn lengths(point: &EmbeddingPoint) -> Result<Lengths, Failure> {
    Lengths::of(point).ok_or_else(|| Failure::Device("operands overflow".to_owned()))
}

fn zeros(length: u64) -> Result<Vec<i64>, Failure> {
    let refuse = || Failure::Device(format!("out of memory: {length} lookups on the host"));
    let length = usize::try_from(length).map_err(|_| refuse())?;
    let mut zeros = Vec::new();
    zeros.try_reserve_exact(length).map_err(|_| refuse())?;
    zeros.resize(length, 0);
    Ok(zeros)
}

/// Passes of the sort that tell `rows` rows apart.
fn passes(rows: u64) -> u32 {
    (u64::BITS - rows.saturating_sub(1).leading_zeros()).div_ceil(DIGIT_BITS)
}

#[cfg(test)]
mod tests {
    use kernelgauge_data::{Distribution, Dtype, Optimizer};

    use super::*;

    #[test]
    fn as_many_passes_as_the_largest_row_has_bytes() {
        let found = [1, 2, 256, 257, 65_536, 65_537, 1 << 32].map(passes);
        assert_eq!(found, [0, 1, 1, 2, 2, 3, 4]);
    }

    #[test]
    fn memory_is_that_of_every_operand() {
        let mut point = EmbeddingPoint {
            direction: Direction::Forward,
            optimizer: Optimizer::RowWiseAdagrad,
            dtype: Dtype::F16,
            tables: 2,
            rows: 100,
            dim: 8,
            batch: 10,
            pooling: 3,
            distribution: Distribution::Uniform,
        };
        let forward = 2 * (1600 + 160) + 8 * (60 + 21 + 9);
        assert_eq!(bytes(&point), Some(forward));
        point.direction = Direction::Backward;
        let sorting = 8 * (3 * 60 + 1 + 256 * 2);
        assert_eq!(bytes(&point), Some(forward + 4 * 200 + sorting));
        assert_eq!(unsupported(&point), None);
        point.optimizer = Optimizer::Dense;
        assert!(unsupported(&point).is_some_and(|what| what.contains("whole table")));
        point.optimizer = Optimizer::Sgd;
        point.rows = 1 << 31;
        assert_eq!(unsupported(&point), None);
        point.rows += 1;
        assert!(unsupported(&point).is_some());
        point.rows = u64::MAX;
        assert!(unsupported(&point).is_some() && bytes(&point).is_none());
        point.dtype = Dtype::Bf16;
        assert!(unsupported(&point).is_some_and(|what| what.contains("bf16")));
    }
}
