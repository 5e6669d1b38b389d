//! One rank's end of a communicator, and waiting on it.

use std::ffi::c_int;
use std::time::Duration;

use super::bindings::{ncclComm_t, ncclResult_t};
use super::deadline::Deadline;
use super::error::NcclError;
use super::function::Function;
use super::init::{Limits, Place};
use super::library::Library;

/// The library's address of a communicator.
#[derive(Debug, Clone, Copy)]
pub(super) struct Handle(pub ncclComm_t);

// SAFETY: a communicator may be used from any thread, one at a time; a `Communicator` is not
// shared between threads, and `abort` takes it away from whoever had it.
unsafe impl Send for Handle {}

/// One rank's end of a communicator, non-blocking.
///
/// It ends with [`close`](super::close) or, after any error, with [`abort`](super::abort).
/// Dropping it leaves it to the end of the process: both of them wait for the other ranks, which
/// a destructor must not.
#[derive(Debug)]
pub struct Communicator {
    library: Library,
    handle: Handle,
    place: Place,
    limits: Limits,
}

impl Communicator {
    pub(super) fn new(library: Library, handle: Handle, place: Place, limits: Limits) -> Self {
        Communicator { library, handle, place, limits }
    }

    /// The library behind it.
    pub fn library(&self) -> Library {
        self.library
    }

    /// Which rank this is, of how many.
    pub fn place(&self) -> Place {
        self.place
    }

    pub(super) fn handle(&self) -> Handle {
        self.handle
    }

    pub(super) fn limits(&self) -> Limits {
        self.limits
    }

    /// Whether the last call is done. Cheap: the library reads a variable. Failures of other
    /// ranks and of the network show here and nowhere else.
    ///
    /// # Errors
    /// What went wrong meanwhile; the communicator is to be aborted then.
    pub fn is_idle(&self) -> Result<bool, NcclError> {
        let functions = self.library.functions();
        let get =
            self.library.function(Function::GetAsyncError, &functions.ncclCommGetAsyncError)?;
        let mut state = ncclResult_t::ncclSuccess;
        // SAFETY: the communicator is live, and `state` is a place for one answer.
        let result = unsafe { get(self.handle.0, &mut state) };
        self.library.answered(Function::GetAsyncError, result)?;
        self.library.answered(Function::GetAsyncError, state)
    }

    /// Waits until the last call is done; `what` is the subject of the message if it is not.
    ///
    /// # Errors
    /// As [`Communicator::is_idle`], and [`NcclError::Deadline`].
    pub fn settle(&self, what: &str, limit: Duration) -> Result<(), NcclError> {
        Deadline::new(what, limit).poll(|| self.is_idle())
    }

    /// Waits until `ended` says so (the event behind a collective has passed), watching for
    /// failures meanwhile.
    ///
    /// # Errors
    /// What `ended` reports, as [`Communicator::is_idle`], and [`NcclError::Deadline`].
    pub fn wait<E: From<NcclError>>(
        &self,
        what: &str,
        limit: Duration,
        mut ended: impl FnMut() -> Result<bool, E>,
    ) -> Result<(), E> {
        Deadline::new(what, limit).poll(|| {
            self.is_idle()?;
            ended()
        })
    }

    /// How many ranks the library counts: what a measurement may rely on.
    ///
    /// # Errors
    /// What NCCL answers.
    pub fn count(&self) -> Result<u32, NcclError> {
        let count = &self.library.functions().ncclCommCount;
        self.number(Function::Count, count)
    }

    /// Which rank the library takes this for.
    ///
    /// # Errors
    /// What NCCL answers.
    pub fn rank(&self) -> Result<u32, NcclError> {
        let rank = &self.library.functions().ncclCommUserRank;
        self.number(Function::UserRank, rank)
    }

    /// The number of the device it was made for.
    ///
    /// # Errors
    /// What NCCL answers.
    pub fn device(&self) -> Result<u32, NcclError> {
        let device = &self.library.functions().ncclCommCuDevice;
        self.number(Function::CuDevice, device)
    }

    fn number(
        &self,
        function: Function,
        found: &Result<
            unsafe extern "C" fn(ncclComm_t, *mut c_int) -> ncclResult_t,
            libloading::Error,
        >,
    ) -> Result<u32, NcclError> {
        let get = self.library.function(function, found)?;
        let mut number: c_int = -1;
        // SAFETY: the communicator is live, and `number` is a place for one number.
        let result = unsafe { get(self.handle.0, &mut number) };
        self.library.answered(function, result)?;
        u32::try_from(number).map_err(|_| NcclError::Argument {
            what: format!("{function} says {number}, which is no number of a rank or device"),
        })
    }
}
