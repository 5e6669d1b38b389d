//! The matrix products of a GPU: lines of `m` at the `(n, k)` of real layers, batches as in
//! attention, and scattered shapes.
//!
//! Most of them lie as in a linear layer (`nt`), and most are in bf16 and fp8. The other layouts
//! have fewer sites: they cost the same but for how tiles are loaded.

use kernelgauge_data::{CacheState, Dtype, GemmLayout, GemmPoint, Point};

use crate::plan::scatter::{Scatter, log_between};
use crate::plan::{Candidate, DEEPEST};

/// `(n, k)` of layers, by pass: transformers with 8 and 70 thousand million weights, whole and
/// divided by eight GPUs (Llama 3), experts of 8x7B and 671B mixtures (Mixtral, DeepSeek-V3),
/// smaller transformers (BERT, GPT-2), the perceptrons of DLRM, and squares. In each pass the
/// first are for every type, the rest for the types with the most points.
const SITES: [&[(u64, u64)]; 3] = [
    &[
        (4096, 4096),
        (1024, 1024),
        (28_672, 4096),
        (256, 512),
        (4096, 14_336),
        (8192, 1024),
        (1280, 8192),
        (7168, 2048),
    ],
    &[
        (2048, 2048),
        (8192, 8192),
        (3072, 768),
        (512, 512),
        (6144, 4096),
        (7168, 8192),
        (8192, 3584),
        (768, 3072),
        (256, 7168),
        (4096, 1024),
        (1024, 4096),
    ],
    &[
        (1024, 480),
        (512, 1024),
        (64, 256),
        (128, 128),
        (10_240, 8192),
        (57_344, 8192),
        (8192, 28_672),
        (16_384, 16_384),
        (WIDEST, 4096),
        (2304, 768),
        (4096, 7168),
    ],
];
/// Sites of a pass that every type has.
const SHARED: usize = 4;
/// Rows by pass: tokens, or samples.
const ROWS: [&[u64]; 3] = [
    &[1, 16, 128, 1024, 4096, MOST_ROWS],
    &[4, 64, 256, 512, 2048, 8192],
    &[2, 8, 32, 12, 24, 48, 96, 192, 384, 768, 1536, 3072, 6144, 12_288],
];
/// Limits of the domain: rows, `n` (a vocabulary), `k`, and products of a batch.
const MOST_ROWS: u64 = 16_384;
const WIDEST: u64 = 128_256;
const DEEPEST_SUM: u64 = 28_672;
const NARROWEST: u64 = 64;
const MOST_PRODUCTS: u64 = 1024;
/// `n` and `k` of 8-bit types are multiples of this, as the library wants them.
const ALIGNED: u64 = 16;

/// The points of one type and layout.
struct Share {
    dtype: Dtype,
    layout: GemmLayout,
    /// Whether every site has its line.
    all_sites: bool,
    /// Scattered shapes by pass.
    scattered: [usize; 3],
    /// Whether there are batches.
    batched: bool,
}

const SHARES: [Share; 10] = [
    share(Dtype::Bf16, GemmLayout::Nt, true, [40, 80, 160], true),
    share(Dtype::Fp8, GemmLayout::Nt, true, [40, 80, 160], false),
    share(Dtype::F16, GemmLayout::Nt, false, [16, 40, 80], true),
    share(Dtype::Tf32, GemmLayout::Nt, false, [16, 40, 80], false),
    share(Dtype::F32, GemmLayout::Nt, false, [16, 40, 80], false),
    share(Dtype::Int8, GemmLayout::Nt, false, [16, 40, 80], false),
    share(Dtype::Bf16, GemmLayout::Nn, false, [8, 24, 48], true),
    share(Dtype::Bf16, GemmLayout::Tn, false, [8, 24, 48], false),
    share(Dtype::F32, GemmLayout::Nn, false, [8, 24, 48], false),
    share(Dtype::F32, GemmLayout::Tn, false, [8, 24, 48], false),
];

const fn share(
    dtype: Dtype,
    layout: GemmLayout,
    all_sites: bool,
    scattered: [usize; 3],
    batched: bool,
) -> Share {
    Share { dtype, layout, all_sites, scattered, batched }
}

/// Rows of products whose operands come from memory, by pass: the sequences that are decoded
/// together. With more rows, reading the weights is no longer what takes the time.
const DECODED: [&[u64]; 3] = [&[1, 16, 64, 256], &[4, 32, 128], &[2, 8]];

/// The candidate points. Most are hot: operands of a layer have just been written or used.
pub fn candidates() -> Vec<Candidate> {
    let mut candidates: Vec<Candidate> = SHARES.iter().flat_map(Share::candidates).collect();
    [Dtype::Bf16, Dtype::Fp8].into_iter().for_each(|dtype| decoding(dtype, &mut candidates));
    candidates
}

/// Products of few rows with a flushed cache: in a model larger than the cache, the weights of a
/// layer have left it by the next token.
fn decoding(dtype: Dtype, candidates: &mut Vec<Candidate>) {
    let (layout, batch) = (GemmLayout::Nt, 1);
    let vocabulary: &[(u64, u64)] = &[(WIDEST, 4096)];
    for (pass, sites) in [(0, SITES[0]), (0, vocabulary), (1, SITES[1])] {
        for (n, k) in sites.iter().copied() {
            for (later, rows) in DECODED.iter().enumerate() {
                let level = (pass + later as u8).min(DEEPEST);
                candidates.extend(rows.iter().map(|m| {
                    let point = Point::Gemm(GemmPoint { dtype, batch, m: *m, n, k, layout });
                    Candidate::usual(point, CacheState::Cold, level)
                }));
            }
        }
    }
}

impl Share {
    fn candidates(&self) -> Vec<Candidate> {
        let mut found = Vec::new();
        let mut add = |level, [batch, m, n, k]: [u64; 4]| {
            let (dtype, layout) = (self.dtype, self.layout);
            let point = Point::Gemm(GemmPoint { dtype, batch, m, n, k, layout });
            found.push(Candidate::usual(point, CacheState::Hot, level));
        };
        for (n, k) in [(NARROWEST, NARROWEST), (WIDEST, NARROWEST), (NARROWEST, DEEPEST_SUM)] {
            add(0, [1, 1, n, k]);
        }
        add(0, [1, MOST_ROWS, NARROWEST, NARROWEST]);
        self.lines(&mut add);
        if self.batched {
            self.batches(&mut add);
        }
        self.scatter(&mut add);
        found
    }

    /// A line of the pass in which its site or its rows come first, whichever is later.
    fn lines(&self, add: &mut impl FnMut(u8, [u64; 4])) {
        for (pass, sites) in SITES.iter().enumerate() {
            let count = if self.all_sites { sites.len() } else { SHARED };
            for (n, k) in sites.iter().take(count) {
                for (level, rows) in ROWS.iter().enumerate() {
                    rows.iter().for_each(|m| add(level.max(pass) as u8, [1, *m, *n, *k]));
                }
            }
        }
    }

    /// What attention multiplies, a product for each head of each sequence: queries with keys
    /// (`nt`), weights with values (`nn`).
    fn batches(&self, add: &mut impl FnMut(u8, [u64; 4])) {
        const HEAD: u64 = 128;
        for (level, batches) in
            [&[8, 64, MOST_PRODUCTS][..], &[16, 32, 256], &[4, 128, 512]].into_iter().enumerate()
        {
            for (batch, length) in batches.iter().flat_map(|b| [64, 512, 2048].map(|l| (*b, l))) {
                let level = if length == 2048 { level.max(1) } else { level } as u8;
                for queries in [1, length] {
                    match self.layout {
                        GemmLayout::Nt => add(level, [batch, queries, length, HEAD]),
                        _ => add(level, [batch, queries, HEAD, length]),
                    }
                }
            }
        }
    }

    /// Shapes that no line has: three in four with sides that are multiples of eight, as
    /// layers have them, the others as they fall.
    fn scatter(&self, add: &mut impl FnMut(u8, [u64; 4])) {
        let multiple = |index: usize| match self.dtype.size() {
            1 => ALIGNED,
            _ if index.is_multiple_of(4) => 1,
            _ => 8,
        };
        let mut shapes = Scatter::<3>::new().enumerate().map(|(index, [m, n, k])| {
            let side = |most, share| {
                let multiple = multiple(index);
                log_between(NARROWEST, most, share) / multiple * multiple
            };
            [1, log_between(1, MOST_ROWS, m), side(MOST_ROWS, n), side(MOST_ROWS, k)]
        });
        for (level, count) in self.scattered.into_iter().enumerate() {
            let level = (level as u8).min(DEEPEST);
            shapes.by_ref().take(count).for_each(|shape| add(level, shape));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn every_variant_has_enough_of_the_first_pass_and_8_bit_sides_are_aligned() {
        let mut counts: BTreeMap<String, [usize; 3]> = BTreeMap::new();
        let mut cold = [0; 3];
        for Candidate { point, level, cache, .. } in candidates() {
            point.check().unwrap();
            let Point::Gemm(gemm) = point else { panic!("{point}") };
            if gemm.dtype.size() == 1 {
                assert!(
                    gemm.n.is_multiple_of(ALIGNED) && gemm.k.is_multiple_of(ALIGNED),
                    "{point}"
                );
            }
            if cache == CacheState::Cold {
                assert!(gemm.m <= 256 && gemm.layout == GemmLayout::Nt, "{point}");
                cold[level as usize] += 1;
                continue;
            }
            counts.entry(point.variant().as_str().to_owned()).or_default()[level as usize] += 1;
        }
        assert_eq!(counts.len(), SHARES.len());
        assert!(counts.values().all(|passes| passes[0] >= 30), "{counts:?}");
        // Two types; a tenth of the products that are hot.
        assert!(cold[0] >= 2 * 30 && cold.iter().sum::<usize>() < 400, "{cold:?}");
        let first: usize = counts.values().map(|passes| passes[0]).sum();
        assert!((400..800).contains(&first), "{first}");
        let others =
            counts.iter().filter(|(name, _)| !["bf16/nt", "fp8/nt"].contains(&name.as_str()));
        let most = others.map(|(_, passes)| passes.iter().sum::<usize>()).max().unwrap();
        assert!(counts["fp8/nt"].iter().sum::<usize>() > most, "{counts:?}");
    }
}
