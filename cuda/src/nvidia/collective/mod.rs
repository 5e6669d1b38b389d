//! Collectives over the GPUs of a run, through NCCL.
//!
//! A communicator of the first n GPUs is formed when a point of n ranks comes first, kept while
//! the next points have as many, and given up after a failure; it is then formed anew, once. Ranks
//! may also be spread over processes ([`Collectives::join`]); their communicator is kept beside the
//! other, and only whoever asks all processes at once can join it anew. Nothing here waits without a limit
//! ([`patience`]): what never ends costs its point.
//!
//! Left to others: NCCL itself (`nccl`), which points there are, and processes.

mod content;
mod operand;
mod patience;
mod ranks;
mod shape;
mod tuning;
mod uneven;
mod workload;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use cudarc::driver::sys::CUdevice;
use kernelgauge_data::{CacheState, Collective, CollectivePoint, Failure, Links, Manner};

use self::content::Content;
use self::patience::Patience;
use self::ranks::Ranks;
use self::shape::Shape;
pub use self::tuning::Tuning;
use self::workload::CollectiveWorkload;
use super::throttle::Throttle;
use crate::device::Workload;
use crate::nccl::{Element, Library, NcclError, abort, close};
use crate::world::World;

/// Collectives in a row that never end, after which none is tried any more.
const HOPELESS: u32 = 3;

/// The GPUs of a run as ranks.
#[derive(Debug)]
pub struct Collectives {
    devices: Vec<CUdevice>,
    links: Links,
    patience: Patience,
    tuning: Option<Tuning>,
    ranks: Option<Ranks>,
    /// Those that are spread over several processes.
    spread: Option<Ranks>,
    /// Ranks and nodes of the communicator over several processes.
    world: Option<(u64, u64)>,
    /// Whether this process is one of several whose ranks come together.
    is_one_of_several: bool,
    /// Numbers of ranks that cannot be formed, with the reason.
    refused: BTreeMap<u64, String>,
    hangs: u32,
    /// What never ended; the process is not what it was.
    hung: Option<String>,
    /// Why nothing is tried any more.
    given_up: Option<String>,
}

impl Collectives {
    /// The ranks of `devices`, none of which is formed yet.
    pub fn new(devices: Vec<CUdevice>, links: Links, tuning: Option<Tuning>) -> Self {
        Collectives {
            devices,
            links,
            patience: Patience::of_this_process(),
            tuning,
            ranks: None,
            spread: None,
            world: None,
            is_one_of_several: false,
            refused: BTreeMap::new(),
            hangs: 0,
            hung: None,
            given_up: None,
        }
    }

    /// NCCL, looked for once.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn library(&self) -> Result<Library, Failure> {
        Ok(opened()?)
    }

    /// Says that this process is one of several whose ranks come together.
    pub fn expect_others(&mut self) {
        self.is_one_of_several = true;
    }

    /// The version of NCCL, where it is there and there is more than one GPU.
    pub fn version(&self) -> Option<String> {
        let several = self.devices.len() > 1 || self.is_one_of_several;
        several.then(|| opened().ok()).flatten().map(|library| library.version().to_string())
    }

    /// Why `point` cannot be executed in this manner.
    pub fn unsupported(
        &self,
        point: &CollectivePoint,
        cache: CacheState,
        manner: Manner,
    ) -> Option<String> {
        let library = match opened() {
            Ok(library) => library,
            Err(error) => return Some(format!("collectives: {error}")),
        };
        if cache != CacheState::Hot {
            return Some("collectives with a flushed cache".to_owned());
        }
        match manner {
            Manner::InPlace if !has_in_place(point.collective) => {
                return Some(format!("{} in place", point.collective));
            }
            Manner::Pair { .. } => return Some("collectives of a pair".to_owned()),
            _ => {}
        }
        let CollectivePoint { ranks, nodes, links, dtype, .. } = *point;
        let here = nodes == 1 && ranks <= self.devices.len() as u64;
        if !here && self.world != Some((ranks, nodes)) {
            let gpus = self.devices.len();
            return Some(format!("{ranks} ranks on {nodes} nodes with {gpus} GPUs here"));
        }
        if nodes == 1 && links != Links::Unstated && links != self.links {
            return Some(format!("links {links}: those here are {}", self.links));
        }
        if !Content::knows(dtype) {
            return Some(format!("collectives of {dtype}, whose results are not checked"));
        }
        if let Err(error) = Element::of(dtype, library.version()) {
            return Some(error.to_string());
        }
        Shape::of(point, 0).is_none().then(|| {
            format!("{} bytes, which are no whole {dtype} parts of {ranks} ranks", point.bytes)
        })
    }

    /// Memory on the GPU that needs most.
    pub fn needed(&self, point: &CollectivePoint, manner: Manner) -> u64 {
        let in_place = manner == Manner::InPlace;
        Shape::of(point, 0).map_or(2 * point.bytes, |shape| operand::bytes(&shape, point, in_place))
    }

    /// `point` with its operands in place, on ranks that are formed if they are not.
    ///
    /// # Errors
    /// Why it cannot run.
    pub fn prepared<'device>(
        &'device mut self,
        throttle: &'device mut Throttle,
        point: &CollectivePoint,
        manner: Manner,
        seed: u64,
    ) -> Result<Box<dyn Workload + 'device>, Failure> {
        self.ready(point.ranks)?;
        Ok(Box::new(CollectiveWorkload::new(self, throttle, point, manner, seed)?))
    }

    /// An id for ranks in several processes.
    ///
    /// # Errors
    /// What NCCL says.
    pub fn unique_id(&self) -> Result<Vec<u8>, Failure> {
        Ok(opened()?.unique_id()?.as_bytes().to_vec())
    }

    /// Joins a communicator over several processes. One that is still there has failed on another
    /// rank: it is aborted here as it was there.
    ///
    /// # Errors
    /// What NCCL says, or that ranks are missing at the deadline.
    pub fn join(&mut self, world: &World) -> Result<(), Failure> {
        self.world = None;
        if let Some(ranks) = self.spread.take() {
            let (communicators, remains) = ranks.split();
            if let Err(error) = abort(communicators, self.patience.limits().abort) {
                std::mem::forget(remains);
                // This process is of no more use: a new one joins.
                self.hung = Some(error.to_string());
                return Err(error.into());
            }
        }
        let joined = Ranks::join(opened()?, &self.devices, world, self.patience.limits());
        if let Err(Failure::TimedOut(what)) = &joined {
            self.hung = Some(what.clone());
        }
        self.spread = Some(joined?);
        self.world = Some((u64::from(world.ranks), u64::from(world.nodes)));
        Ok(())
    }

    /// What never ended in this process.
    pub fn hung(&self) -> Option<String> {
        self.given_up.clone().or_else(|| self.hung.clone())
    }

    /// What NCCL said of its choices, as a table.
    pub fn tuning(&self) -> Option<String> {
        self.tuning.as_ref().and_then(Tuning::table)
    }

    /// Whether a communicator of `count` ranks is the one over several processes.
    fn is_spread(&self, count: u64) -> bool {
        self.world.is_some_and(|(ranks, _)| ranks == count)
    }

    fn ranks(&self, count: u64) -> Result<&Ranks, Failure> {
        let ranks = if self.is_spread(count) { &self.spread } else { &self.ranks };
        ranks.as_ref().ok_or_else(|| Failure::Device("the ranks were given up".to_owned()))
    }

    fn patience(&self) -> Patience {
        self.patience
    }

    /// Makes the ranks be `count`.
    fn ready(&mut self, count: u64) -> Result<(), Failure> {
        if let Some(why) = self.given_up.as_ref().or(self.refused.get(&count)) {
            return Err(Failure::AfterDeviceLost(why.clone()));
        }
        if self.is_spread(count) {
            // Whoever asked all ranks to join asks them again after a failure.
            return self.ranks(count).map(drop);
        }
        if self.ranks.as_ref().is_some_and(|ranks| u64::from(ranks.count) == count) {
            return Ok(());
        }
        self.retire();
        let devices = self.devices.get(..count as usize).unwrap_or(&self.devices);
        let (library, limits) = (opened()?, self.patience.limits());
        // Once more: what was left over from an earlier failure may have been in the way.
        let formed = Ranks::form(library, devices, limits)
            .or_else(|_| Ranks::form(library, devices, limits));
        match formed {
            Ok(ranks) => {
                self.ranks = Some(ranks);
                if let Some(tuning) = &mut self.tuning {
                    tuning.read(&library);
                }
                Ok(())
            }
            Err(failure) => {
                self.refused.insert(count, failure.to_string());
                Err(failure)
            }
        }
    }

    /// Ends the ranks of this process in order, where there are any.
    fn retire(&mut self) {
        let ranks = self.ranks.take();
        self.close(ranks);
    }

    fn close(&self, ranks: Option<Ranks>) {
        let Some(ranks) = ranks else { return };
        let (communicators, remains) = ranks.split();
        // Nothing else depends on how it ends: the next ones are formed anew.
        if close(communicators, self.patience.limits().abort).is_err() {
            std::mem::forget(remains);
        }
    }

    fn went_well(&mut self) {
        self.hangs = 0;
    }

    /// Aborts the `count` ranks after `failure`; whether something still runs on their GPUs.
    fn give_up(&mut self, count: u64, failure: &Failure) -> bool {
        if matches!(failure, Failure::TimedOut(_)) {
            self.hangs += 1;
            self.hung = Some(failure.to_string());
        }
        let ranks = if self.is_spread(count) { self.spread.take() } else { self.ranks.take() };
        let Some(ranks) = ranks else { return self.given_up.is_some() };
        let (communicators, remains) = ranks.split();
        match abort(communicators, self.patience.limits().abort) {
            Ok(()) => drop(remains),
            Err(error) => {
                std::mem::forget(remains);
                self.given_up = Some(format!("{failure}; then {error}"));
            }
        }
        if self.hangs >= HOPELESS {
            self.given_up.get_or_insert_with(|| format!("{HOPELESS} times in a row: {failure}"));
        }
        self.given_up.is_some()
    }
}

/// Ranks that are left to the end of the process would keep their GPUs' memory until then.
impl Drop for Collectives {
    fn drop(&mut self) {
        self.retire();
        let spread = self.spread.take();
        self.close(spread);
    }
}

/// Whether NCCL has an execution in place, where the buffers are one: see nccl.h, "In-place".
fn has_in_place(collective: Collective) -> bool {
    matches!(
        collective,
        Collective::AllReduce
            | Collective::AllGather
            | Collective::ReduceScatter
            | Collective::Broadcast
            | Collective::Reduce
    )
}

/// The library, loaded once per process.
fn opened() -> Result<Library, NcclError> {
    static OPENED: OnceLock<Result<Library, NcclError>> = OnceLock::new();
    OPENED.get_or_init(Library::load).clone()
}
