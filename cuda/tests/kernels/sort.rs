//! The radix sort behind the backward pass of embedding bags.

use kernelgauge_cuda::nvidia::kernels::geometry::SORT_TILE;
use kernelgauge_cuda::random::Random;

use crate::buffer::Buffer;
use crate::emulator::{Argument, Kernels};

/// Sorts `keys` by bits 32 and up, of which `bits` matter.
pub fn by_row(kernels: &Kernels, keys: &[u64], bits: u32) -> Vec<u64> {
    let number = keys.len() as u64;
    let tiles = number.div_ceil(SORT_TILE);
    let mut from = Buffer::new(keys);
    for pass in 0..bits.div_ceil(8) {
        let to = Buffer::<u64>::blank(keys.len(), 0);
        let counts = Buffer::<u64>::blank(256 * tiles as usize, 0);
        let totals = Buffer::<u64>::blank(256, 0);
        let (n, shift) = (Argument::U64(number), Argument::U32(32 + 8 * pass));
        kernels.launch("sort_count", &[number], &[from.argument(), counts.argument(), n, shift]);
        let arguments = [counts.argument(), totals.argument(), Argument::U64(tiles)];
        kernels.launch("sort_scan", &[], &arguments);
        let arguments =
            [from.argument(), to.argument(), counts.argument(), totals.argument(), n, shift];
        kernels.launch("sort_scatter", &[number], &arguments);
        counts.content();
        from = to;
    }
    from.content()
}

#[test]
fn agrees_with_a_stable_sort() {
    let Some(kernels) = Kernels::of("sort.cu") else { return };
    let mut random = Random::new(1);
    for (number, bits) in [(1, 8), (31, 3), (257, 8), (4096, 12), (4097, 16), (13_001, 20)] {
        let keys: Vec<u64> =
            (0..number).map(|place| random.below(1 << bits) << 32 | place).collect();
        let mut expected = keys.clone();
        expected.sort_by_key(|key| key >> 32);
        assert!(by_row(&kernels, &keys, bits) == expected, "{number} keys of {bits} bits");
    }
}
