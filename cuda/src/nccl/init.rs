//! Makes communicators: one rank of several processes, or all ranks of this one.

use std::ffi::c_int;
use std::ops::Range;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Duration;

use super::bindings::{
    KERNELGAUGE_NCCL_CONFIG_MAGIC, KERNELGAUGE_NCCL_CONFIG_VERSION, ncclComm, ncclConfig_t,
    ncclResult_t,
};
use super::code::Code;
use super::communicator::{Communicator, Handle};
use super::deadline::Deadline;
use super::ending::abort;
use super::error::NcclError;
use super::function::Function;
use super::group::Group;
use super::library::Library;
use super::unique_id::UniqueId;
use super::version::Version;

/// The first version whose calls need not block.
const NON_BLOCKING: Version = Version::new(2, 14, 0);

/// Which rank, of how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// This rank, from 0.
    pub rank: u32,
    /// How many there are.
    pub ranks: u32,
}

/// How long may be waited for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// For all ranks to find each other.
    pub init: Duration,
    /// For a call to be launched (not for what it launches to end).
    pub launch: Duration,
    /// For aborting, before its threads are left behind.
    pub abort: Duration,
}

/// Forming a communicator of hundreds of ranks takes some ten seconds; a launch may connect
/// ranks that have not talked before.
impl Default for Limits {
    fn default() -> Self {
        Limits {
            init: Duration::from_secs(60),
            launch: Duration::from_secs(30),
            abort: Duration::from_secs(10),
        }
    }
}

impl Communicator {
    /// Joins the communicator of `id` at `place`, with the current device of this thread, and
    /// waits for all other ranks to join too.
    ///
    /// # Errors
    /// What NCCL answers, or [`NcclError::Deadline`] where ranks are missing; what had begun is
    /// aborted then.
    pub fn join(
        library: Library,
        id: &UniqueId,
        place: Place,
        limits: Limits,
    ) -> Result<Self, NcclError> {
        let communicator = begin(library, id, place, limits)?;
        let what = format!("joining as rank {} of {}", place.rank, place.ranks);
        match communicator.settle(&what, limits.init) {
            Ok(()) => Ok(communicator),
            Err(error) => Err(undo(vec![communicator], limits, error)),
        }
    }
}

/// Makes all ranks of a communicator in this thread; `select` makes the device of a rank the
/// current one.
///
/// # Errors
/// What `select` reports, what NCCL answers, or [`NcclError::Deadline`]; what had begun is
/// aborted then.
pub fn init_all<E: From<NcclError>>(
    library: Library,
    ranks: u32,
    limits: Limits,
    select: impl FnMut(u32) -> Result<(), E>,
) -> Result<Vec<Communicator>, E> {
    let id = library.unique_id()?;
    join_all(library, &id, 0..ranks, ranks, limits, select)
}

/// Joins the communicator of `id` as the ranks `places` of `ranks`, in this thread, and waits for
/// all others to join too.
///
/// # Errors
/// As [`init_all`].
pub fn join_all<E: From<NcclError>>(
    library: Library,
    id: &UniqueId,
    places: Range<u32>,
    ranks: u32,
    limits: Limits,
    mut select: impl FnMut(u32) -> Result<(), E>,
) -> Result<Vec<Communicator>, E> {
    let mut group = Group::start(library)?;
    let mut begun = Vec::new();
    let all = places.into_iter().try_for_each(|rank| {
        select(rank)?;
        begun.push(begin(library, id, Place { rank, ranks }, limits)?);
        Ok(())
    });
    // The group ends in any case: ranks that have begun can only be aborted outside of it.
    let formed = all.and(group.leave().map_err(E::from)).and_then(|()| {
        let deadline =
            Deadline::new(format!("forming a communicator of {ranks} ranks"), limits.init);
        let idle = |communicator: &Communicator| Ok(communicator.is_idle()?);
        begun.iter().try_for_each(|communicator| deadline.poll(|| idle(communicator)))
    });
    match formed {
        Ok(()) => Ok(begun),
        Err(error) => Err(undo(begun, limits, error)),
    }
}

/// Aborts what has begun. That the abort failed too would hide why it was needed.
fn undo<E>(begun: Vec<Communicator>, limits: Limits, error: E) -> E {
    let _ = abort(begun, limits.abort);
    error
}

/// Starts to join; the answer is an address that is still in progress.
fn begin(
    library: Library,
    id: &UniqueId,
    place: Place,
    limits: Limits,
) -> Result<Communicator, NcclError> {
    let Place { rank, ranks } = place;
    let (Ok(rank_number), Ok(ranks_number)) = (c_int::try_from(rank), c_int::try_from(ranks))
    else {
        return Err(NcclError::Argument { what: format!("{ranks} ranks are too many") });
    };
    if rank >= ranks {
        return Err(NcclError::Argument { what: format!("there is no rank {rank} of {ranks}") });
    }
    let init = non_blocking(library)?;
    let mut config = ncclConfig_t {
        size: size_of::<ncclConfig_t>(),
        magic: KERNELGAUGE_NCCL_CONFIG_MAGIC,
        version: KERNELGAUGE_NCCL_CONFIG_VERSION,
        blocking: 0,
    };
    // Older libraries keep the address of this place and use it from another thread until the
    // communicator is formed, given up or not: it is never freed.
    let slot: &'static AtomicPtr<ncclComm> = Box::leak(Box::default());
    // SAFETY: slot and configuration are in place; the latter states its size, is copied, and
    // is only read.
    let result =
        unsafe { init(slot.as_ptr(), ranks_number, id.to_nccl(), rank_number, &mut config) };
    let answer = library.answered(Function::InitRankConfig, result);
    let handle = slot.load(Ordering::Acquire);
    if handle.is_null() {
        answer?;
        let code = Code::from(ncclResult_t::ncclInternalError);
        return Err(NcclError::Call { function: Function::InitRankConfig, code, detail: None });
    }
    let communicator = Communicator::new(library, Handle(handle), place, limits);
    match answer {
        Ok(_) => Ok(communicator),
        Err(error) => Err(undo(vec![communicator], limits, error)),
    }
}

/// `ncclCommInitRankConfig`.
type InitRankConfig = unsafe extern "C" fn(
    *mut *mut ncclComm,
    c_int,
    super::bindings::ncclUniqueId,
    c_int,
    *mut ncclConfig_t,
) -> ncclResult_t;

/// The call that starts to join, if it is sure not to block and can be given up.
fn non_blocking(library: Library) -> Result<InitRankConfig, NcclError> {
    if library.version() < NON_BLOCKING {
        return Err(NcclError::TooOld { found: library.version(), needed: NON_BLOCKING });
    }
    // It overrides the configuration.
    if std::env::var_os("NCCL_COMM_BLOCKING").is_some_and(|value| value != "0") {
        return Err(NcclError::BlockingForced);
    }
    let functions = library.functions();
    library.function(Function::GetAsyncError, &functions.ncclCommGetAsyncError)?;
    library.function(Function::Abort, &functions.ncclCommAbort)?;
    library.function(Function::InitRankConfig, &functions.ncclCommInitRankConfig)
}
