//! The two ends of a communicator. Both wait for other ranks, so both run on threads that are
//! left behind when the time is up; whoever started the process has to end it then.

use std::time::Duration;

use super::bindings::{ncclComm_t, ncclResult_t};
use super::communicator::{Communicator, Handle};
use super::deadline::Deadline;
use super::error::NcclError;
use super::function::Function;

/// A function that takes a communicator and ends something.
type End = unsafe extern "C" fn(ncclComm_t) -> ncclResult_t;

/// Gives up all work of these ranks, at once: inside a node each waits for the others.
///
/// # Errors
/// [`NcclError::Deadline`] where it has not ended after `grace`, which happens behind a kernel
/// that is stuck; this process is of no more use then.
pub fn abort(communicators: Vec<Communicator>, grace: Duration) -> Result<(), NcclError> {
    let deadline = Deadline::new(format!("aborting {} ranks", communicators.len()), grace);
    let function = |communicator: &Communicator| {
        let library = communicator.library();
        library.function(Function::Abort, &library.functions().ncclCommAbort)
    };
    end_all(communicators, Function::Abort, function, &deadline)
}

/// Ends these ranks in order: all work is flushed, then everything is freed.
///
/// # Errors
/// What NCCL answers, or [`NcclError::Deadline`]; where the work cannot be flushed, the ranks
/// are aborted.
pub fn close(communicators: Vec<Communicator>, limit: Duration) -> Result<(), NcclError> {
    let deadline = Deadline::new(format!("closing {} ranks", communicators.len()), limit);
    let flushed = communicators.iter().try_for_each(finalize).and_then(|()| {
        communicators.iter().try_for_each(|communicator| deadline.poll(|| communicator.is_idle()))
    });
    if let Err(error) = flushed {
        let grace = communicators.first().map_or(limit, |first| first.limits().abort);
        // That the abort failed too would hide why it was needed.
        let _ = abort(communicators, grace);
        return Err(error);
    }
    let function = |communicator: &Communicator| {
        let library = communicator.library();
        library.function(Function::Destroy, &library.functions().ncclCommDestroy)
    };
    end_all(communicators, Function::Destroy, function, &deadline)
}

/// Starts to flush.
fn finalize(communicator: &Communicator) -> Result<(), NcclError> {
    let library = communicator.library();
    let finalize = library.function(Function::Finalize, &library.functions().ncclCommFinalize)?;
    // SAFETY: the communicator is live, and its owner is about to let go of it.
    let result = unsafe { finalize(communicator.handle().0) };
    library.answered(Function::Finalize, result).map(drop)
}

/// Calls `end` for all communicators at once, which are gone afterwards.
fn end_all(
    communicators: Vec<Communicator>,
    function: Function,
    end: impl Fn(&Communicator) -> Result<End, NcclError>,
    deadline: &Deadline,
) -> Result<(), NcclError> {
    let ends: Vec<End> = communicators.iter().map(end).collect::<Result<_, _>>()?;
    let works = ends.into_iter().zip(&communicators).map(|(end, communicator)| {
        let handle = communicator.handle();
        move || call(end, handle)
    });
    let results = deadline.all_at_once(works.collect())?;
    let Some(first) = communicators.first() else { return Ok(()) };
    let library = first.library();
    results.into_iter().try_for_each(|result| library.answered(function, result).map(drop))
}

/// A function of its own, so that a thread takes the whole [`Handle`] and not the address in it.
fn call(end: End, handle: Handle) -> ncclResult_t {
    // SAFETY: the communicator is live, and nobody else has it: its owner gave it away.
    unsafe { end(handle.0) }
}
