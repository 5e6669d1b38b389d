//! The two catalogues: what is worth measuring on a processor, and on a GPU.
//!
//! They differ in points, in the guess of how long a point takes, and in the words for both.

use kernelgauge_data::{Family, Links};

use super::estimate::{GPU, PROCESSOR, Rates};
use super::{Candidate, Plan, collective, copy, embedding, gemm, gpu, memory, pairs};

/// Which catalogue a plan is made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Catalogue {
    /// For processors, and for the simulated device.
    Processor,
    /// For GPUs.
    Gpu {
        /// How many there are.
        count: u32,
        /// How they are linked.
        links: Links,
        /// How many such nodes measure together.
        nodes: u32,
        /// Pairs whose copies are a whole line each, beside the first two: the first pair of
        /// every other kind of link.
        routes: Routes,
    },
}

/// So many pairs of GPUs at most, more than there are kinds of links in one machine.
pub type Routes = [Option<(u32, u32)>; 4];

impl Catalogue {
    /// The families it has points of.
    pub fn families(self) -> &'static [Family] {
        match self {
            Catalogue::Processor => &Plan::FAMILIES[..4],
            Catalogue::Gpu { .. } => &Plan::FAMILIES,
        }
    }

    /// Every point worth measuring.
    pub(super) fn candidates(self) -> Vec<Candidate> {
        match self {
            Catalogue::Processor => [
                gemm::candidates(),
                embedding::candidates(),
                memory::candidates(),
                copy::candidates(),
            ]
            .concat(),
            Catalogue::Gpu { count, links, nodes, routes } => [
                gpu::candidates(),
                pairs::candidates(count, routes),
                collective::candidates(count, links, nodes),
            ]
            .concat(),
        }
    }

    /// How fast such a device is guessed to be.
    pub(super) fn rates(self) -> Rates {
        match self {
            Catalogue::Processor => PROCESSOR,
            Catalogue::Gpu { links, .. } => GPU.linked(links),
        }
    }

    /// What the points of a family are chosen for.
    pub(super) fn why(self, family: Family) -> &'static str {
        match (self, family) {
            (Catalogue::Processor, Family::Gemm) => {
                "f32 f64; lines of m at 43 (n,k) sites, scattered shapes"
            }
            (Catalogue::Processor, Family::Embedding) => {
                "forward, backward; uniform, Zipf, reuse; dim 16..256"
            }
            (Catalogue::Processor, Family::Memory) => "11 ops hot and cold, 1 Ki..32 Mi elements",
            (Catalogue::Processor, Family::Copy) => "host to host, hot and cold, 1 KiB..256 MiB",
            (Catalogue::Gpu { .. }, Family::Gemm) => {
                "f32 tf32 f16 bf16 fp8 int8; lines of m at (n,k) of real layers, cold too; batches, scattered"
            }
            (Catalogue::Gpu { .. }, Family::Embedding) => {
                "forward, backward; f32 f16; uniform, Zipf, reuse; hot and cold"
            }
            (Catalogue::Gpu { .. }, Family::Memory) => {
                "15 ops in f32 f16 bf16, hot and cold, 1 Ki..256 Mi elements"
            }
            (Catalogue::Gpu { .. }, Family::Custom) => {
                "launches, gaps, events, waits; 1..1024 of them"
            }
            (Catalogue::Gpu { .. }, Family::Copy) => {
                "host, device, peer; every pair; pinned and not, 1 KiB..1 GiB"
            }
            (Catalogue::Gpu { .. }, Family::Collective) => {
                "10 collectives, 2, 4.. ranks; in flight, isolated, in place; 8 B..16 GiB"
            }
            _ => "",
        }
    }
}
