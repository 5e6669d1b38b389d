//! Grids and blocks: how many threads a launch of each kernel takes.
//!
//! Every kernel strides over its grid, so a smaller grid than the work asks for is never wrong;
//! these rules make it fast. Dynamic shared memory is not used.

/// Threads of a block (`THREADS` in `device.h`).
pub const THREADS: u32 = 256;
/// Threads of a warp.
const WARP: u32 = 32;
/// Keys a block sorts at a time (`TILE` in `sort.cu`).
pub const SORT_TILE: u64 = 4096;
/// Lanes that write the keys of one bag (`KEY_LANES` in `embedding_backward.cu`).
pub const KEY_LANES: u32 = 8;
/// Blocks of 256 threads per multiprocessor that fill it: 2048 threads, the most any has.
const FILLING: u32 = 8;
/// Steps a thread of a flat kernel has under way (`AHEAD` in `device.h`).
const AHEAD: u64 = 4;
/// The most blocks along x, and along y, that a grid can have.
const MOST_X: u64 = i32::MAX as u64;
const MOST_Y: u64 = 65_535;

/// Grid and block of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Blocks along x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block along x, y, z.
    pub block: [u32; 3],
}

impl Geometry {
    fn new(blocks: [u64; 2], block: [u32; 2]) -> Self {
        let [x, y] = [blocks[0].clamp(1, MOST_X), blocks[1].clamp(1, MOST_Y)];
        Geometry { grid: [x as u32, y as u32, 1], block: [block[0], block[1], 1] }
    }

    fn line(blocks: u64) -> Self {
        Geometry::new([blocks, 1], [THREADS, 1])
    }
}

/// How the geometry of a kernel follows from the extent of its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// One thread.
    Single,
    /// 16-byte steps of elements of so many bytes; extent: elements.
    Flat {
        /// Bytes of the narrowest element.
        bytes: u64,
    },
    /// A warp per row; extent: rows.
    WarpPerRow,
    /// A block per row; extent: rows.
    BlockPerRow,
    /// Several blocks per row; extent: rows, parts of a row.
    Split,
    /// Threads along a row and rows side by side; extent: rows, accesses along a row.
    Lines,
    /// Square tiles; extent: rows, columns.
    Tiles {
        /// Elements of a side.
        side: u64,
    },
    /// Strips of rows by 32 columns; extent: columns, strips.
    Strips,
    /// Groups of lanes per bag, a table per grid row; extent: samples, tables, lanes.
    Bags,
    /// Groups of lanes per lookup; extent: lookups, lanes.
    Lookups,
    /// A block per tile of keys; extent: keys.
    SortTiles,
    /// A block per digit.
    SortDigits,
    /// As many blocks as fill the device.
    Filling,
}

impl Rule {
    /// The geometry for work of `extent` (its meaning stands beside each rule; missing entries
    /// count as 1) on a device of `units` multiprocessors.
    pub fn geometry(self, extent: &[u64], units: u32) -> Geometry {
        let of = |place: usize| extent.get(place).copied().unwrap_or(1).max(1);
        let (first, second) = (of(0), of(1));
        let filling = u64::from(units.max(1)) * u64::from(FILLING);
        let threads = u64::from(THREADS);
        let warps = u64::from(THREADS / WARP);
        match self {
            Rule::Single => Geometry::new([1, 1], [1, 1]),
            Rule::Flat { bytes } => {
                let steps = first.div_ceil(16 / bytes.clamp(1, 16));
                Geometry::line(steps.div_ceil(threads * AHEAD).min(filling))
            }
            Rule::WarpPerRow => Geometry::line(first.div_ceil(warps)),
            Rule::BlockPerRow => Geometry::line(first),
            Rule::Split => Geometry::new([second, first], [THREADS, 1]),
            Rule::Lines => {
                let along = second.next_power_of_two().min(threads);
                let beside = threads / along;
                // Four rows per thread, so that their accesses overlap.
                let blocks = first.div_ceil(4 * beside).max(filling.min(first.div_ceil(beside)));
                Geometry::new([blocks, 1], [along as u32, beside as u32])
            }
            Rule::Tiles { side } => {
                let side = side.max(1);
                Geometry::line(first.div_ceil(side).saturating_mul(second.div_ceil(side)))
            }
            Rule::Strips => Geometry::new([first.div_ceil(u64::from(WARP)), second], [THREADS, 1]),
            Rule::Bags => {
                let bags = threads / of(2).clamp(4, u64::from(WARP));
                Geometry::new([first.div_ceil(bags), second], [THREADS, 1])
            }
            Rule::Lookups => {
                Geometry::line(first.div_ceil(threads / second.clamp(4, u64::from(WARP))))
            }
            Rule::SortTiles => Geometry::line(first.div_ceil(SORT_TILE)),
            Rule::SortDigits => Geometry::line(threads),
            Rule::Filling => Geometry::line(filling),
        }
    }
}

/// Lanes that work on one bag: as many as cover the widest row with one 16-byte access each,
/// a power of two from 4 to 32.
pub fn lanes(widest_dim: u64, element_bytes: u64) -> u32 {
    let accesses = widest_dim.saturating_mul(element_bytes).div_ceil(16);
    accesses.clamp(4, u64::from(WARP)).next_power_of_two() as u32
}

/// Parts in which each of `rows` rows of `columns` elements is summed, so that all of them
/// together fill `units` multiprocessors; 1 where the rows alone do, or a row is short.
pub fn parts(rows: u64, columns: u64, units: u32) -> u64 {
    /// Elements below which a second launch costs more than it gains.
    const LEAST_PART: u64 = 1 << 14;
    let filling = u64::from(units.max(1)) * u64::from(FILLING);
    (filling / rows.max(1)).min(columns / LEAST_PART).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rule, extent, expected blocks along x and y, threads along x and y; 132 units.
    #[test]
    fn grids_of_known_work() {
        let flat = Rule::Flat { bytes: 4 };
        let tiles = Rule::Tiles { side: 32 };
        let cases: [(Rule, &[u64], [u32; 4]); 16] = [
            (Rule::Single, &[], [1, 1, 1, 1]),
            (flat, &[1], [1, 1, 256, 1]),
            (flat, &[4097], [2, 1, 256, 1]),
            (flat, &[1 << 40], [1056, 1, 256, 1]),
            (Rule::WarpPerRow, &[9], [2, 1, 256, 1]),
            (Rule::BlockPerRow, &[9], [9, 1, 256, 1]),
            (Rule::BlockPerRow, &[1 << 40], [i32::MAX as u32, 1, 256, 1]),
            (Rule::Split, &[3, 100], [100, 3, 256, 1]),
            (Rule::Lines, &[10, 5], [1, 1, 8, 32]),
            (Rule::Lines, &[8192, 1000], [2048, 1, 256, 1]),
            (tiles, &[33, 64], [4, 1, 256, 1]),
            (Rule::Strips, &[33, 7], [2, 7, 256, 1]),
            (Rule::Bags, &[100, 70_000, 16], [7, 65_535, 256, 1]),
            (Rule::Lookups, &[100, 16], [7, 1, 256, 1]),
            (Rule::SortTiles, &[4097], [2, 1, 256, 1]),
            (Rule::SortDigits, &[], [256, 1, 256, 1]),
        ];
        for (rule, extent, [x, y, along, beside]) in cases {
            let expected = Geometry { grid: [x, y, 1], block: [along, beside, 1] };
            assert_eq!(rule.geometry(extent, 132), expected, "{rule:?} {extent:?}");
        }
    }

    #[test]
    fn no_extent_overflows() {
        let rules = [
            Rule::Flat { bytes: 2 },
            Rule::WarpPerRow,
            Rule::Split,
            Rule::Lines,
            Rule::Tiles { side: 64 },
            Rule::Strips,
            Rule::Bags,
            Rule::Lookups,
            Rule::SortTiles,
            Rule::Filling,
        ];
        for rule in rules {
            for extent in [0, 1, 1 << 62] {
                let geometry = rule.geometry(&[extent; 3], 132);
                assert!(geometry.block.iter().product::<u32>() <= THREADS, "{rule:?}");
                assert!(geometry.grid.iter().all(|blocks| *blocks > 0), "{rule:?}");
            }
        }
    }

    #[test]
    fn lanes_cover_a_row() {
        let found = [(1, 4), (16, 4), (64, 4), (65, 4), (128, 4), (1024, 4), (64, 2), (17, 2)]
            .map(|(dim, bytes)| lanes(dim, bytes));
        assert_eq!(found, [4, 4, 16, 32, 32, 32, 8, 4]);
    }

    #[test]
    fn few_long_rows_are_split() {
        assert_eq!(parts(1, 1 << 26, 132), 1056);
        assert_eq!(parts(1, 1 << 20, 132), 64);
        assert_eq!(parts(100, 1 << 20, 132), 10);
        assert_eq!(parts(10_000, 1 << 20, 132), 1);
        assert_eq!(parts(1, 5, 132), 1);
    }
}
