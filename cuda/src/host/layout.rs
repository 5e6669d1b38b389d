//! How much memory the operands of a point take, without allocating any of it.

use kernelgauge_data::{Dtype, Point};

use super::operand::operand_bytes;
use super::{embedding, gemm, memory};

/// Last cache assumed where the operating system does not name one.
const USUAL_CACHE: u64 = 32 << 20;
/// Least and most bytes that cold operands rotate through: small caches are not worth a tighter
/// figure, and beyond the largest the time to fill copies outweighs what they show.
const LEAST_COLD: u64 = 64 << 20;
const MOST_COLD: u64 = 1 << 30;

/// Bytes through which cold operands rotate: twice the last cache, so that a copy is gone from
/// it before it comes again, but at most a quarter of the memory.
pub fn cold_bytes(last_cache: Option<u64>, memory: Option<u64>) -> u64 {
    let twice = last_cache.unwrap_or(USUAL_CACHE).saturating_mul(2);
    twice.clamp(LEAST_COLD, MOST_COLD).min(memory.map_or(u64::MAX, |memory| memory / 4))
}

/// The operands of a point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Bytes of one copy of each operand, in the order they are cut from the arena.
    operands: Vec<u64>,
    /// Copies of each.
    slots: u64,
    /// Bytes a library allocates for itself.
    hidden: u64,
}

impl Layout {
    /// Of `point`, in as many copies as fill `cold_bytes`, at least one; none on overflow and
    /// for ops the processor does not have.
    pub fn of(point: &Point, cold_bytes: u64) -> Option<Self> {
        let scaled = |lengths: [u64; 3], dtype: Dtype| -> Option<Vec<u64>> {
            lengths.into_iter().map(|length| length.checked_mul(dtype.size())).collect()
        };
        let mut hidden = 0;
        let operands = match point {
            Point::Gemm(point) => {
                let operands = scaled(gemm::lengths(point)?, point.dtype)?;
                // The library packs at most one copy of a and b of one product.
                hidden = operands[0].checked_add(operands[1])? / point.batch.max(1);
                operands
            }
            Point::Memory(point) => {
                let mut operands = scaled(memory::lengths(point)?, point.dtype)?;
                if let (count @ 1.., bytes) = point.statistics() {
                    operands.push(count.checked_mul(bytes)?);
                }
                operands
            }
            Point::Copy(point) => vec![point.bytes; 2],
            Point::Embedding(point) => embedding::Lengths::of(point)?.bytes(point.dtype.size())?,
            Point::Collective(_) | Point::Attention(_) | Point::Custom(_) => return None,
        };
        let copy = operands
            .iter()
            .try_fold(0, |sum: u64, bytes| sum.checked_add(bytes.checked_next_multiple_of(64)?))?;
        Some(Layout { operands, slots: cold_bytes.div_ceil(copy.max(1)).max(1), hidden })
    }

    /// Copies of each operand.
    pub fn slots(&self) -> usize {
        usize::try_from(self.slots).unwrap_or(usize::MAX)
    }

    /// Bytes of all operands; none on overflow.
    pub fn operand_bytes(&self) -> Option<u64> {
        self.operands
            .iter()
            .try_fold(0_u64, |sum, bytes| sum.checked_add(operand_bytes(*bytes, self.slots)?))
    }

    /// Bytes in all, with what a library takes for itself; none on overflow.
    pub fn bytes(&self) -> Option<u64> {
        self.operand_bytes()?.checked_add(self.hidden)
    }
}

#[cfg(test)]
mod tests {
    use kernelgauge_data::{
        CopyDirection, CopyPoint, GemmLayout, GemmPoint, MemoryOp, MemoryPoint,
    };

    use super::*;

    #[test]
    fn cold_copies_exceed_twice_the_cache_within_bounds() {
        assert_eq!(cold_bytes(Some(300 << 20), Some(24 << 30)), 600 << 20);
        assert_eq!(cold_bytes(Some(1 << 20), Some(24 << 30)), LEAST_COLD);
        assert_eq!(cold_bytes(Some(2 << 30), Some(24 << 30)), MOST_COLD);
        assert_eq!(cold_bytes(None, None), 64 << 20);
        assert_eq!(cold_bytes(Some(300 << 20), Some(1 << 30)), 256 << 20);
    }

    #[test]
    fn copies_fill_the_rotation() {
        let copy = CopyPoint { direction: CopyDirection::HostToHost, pinned: false, bytes: 100 };
        let layout = Layout::of(&Point::Copy(copy), 1 << 20).unwrap();
        assert_eq!(layout.slots(), (1 << 20) / 256);
        assert!(layout.bytes().unwrap() >= 1 << 20);
        assert_eq!(Layout::of(&Point::Copy(copy), 0).unwrap().slots(), 1);
    }

    #[test]
    fn overflow_is_none() {
        let dtype = Dtype::F64;
        let wide = 1 << 40;
        let gemm = Point::Gemm(GemmPoint {
            dtype,
            batch: 1,
            m: wide,
            n: wide,
            k: 1,
            layout: GemmLayout::Unstated,
        });
        assert_eq!(Layout::of(&gemm, 0), None);
        let op = MemoryOp::Add;
        let memory = Point::Memory(MemoryPoint { op, dtype, rows: wide, columns: 1 << 20 });
        assert_eq!(Layout::of(&memory, 0).and_then(|layout| layout.bytes()), None);
    }
}
