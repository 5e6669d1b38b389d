//! Calls that belong together: a group of NCCL, ended in any case.

use std::cell::Cell;
use std::marker::PhantomData;

use super::bindings::ncclResult_t;
use super::communicator::Communicator;
use super::deadline::Deadline;
use super::error::NcclError;
use super::function::Function;
use super::library::Library;

thread_local! {
    /// Groups of this thread that have not ended; NCCL counts per thread too.
    static OPEN: Cell<u32> = const { Cell::new(0) };
}

/// An open group of this thread. What is called until its end starts together.
///
/// [`Group::end`] ends it and says what became of the calls. One that is dropped is ended too,
/// so that the thread can go on, but with calls missing the other ranks wait: abort then.
#[derive(Debug)]
pub struct Group {
    library: Library,
    end: unsafe extern "C" fn() -> ncclResult_t,
    ended: bool,
    /// It belongs to the thread that opened it.
    here: PhantomData<*const ()>,
}

impl Group {
    /// Opens a group. Groups may be nested; only the end of the outermost starts the calls.
    ///
    /// # Errors
    /// What NCCL answers.
    pub fn start(library: Library) -> Result<Self, NcclError> {
        let functions = library.functions();
        let start = library.function(Function::GroupStart, &functions.ncclGroupStart)?;
        let end = library.function(Function::GroupEnd, &functions.ncclGroupEnd)?;
        // SAFETY: it has no preconditions; the group is ended by `end` or by `drop`.
        let result = unsafe { start() };
        library.answered(Function::GroupStart, result)?;
        OPEN.set(OPEN.get() + 1);
        Ok(Group { library, end, ended: false, here: PhantomData })
    }

    /// Whether this thread has a group open.
    pub fn is_open() -> bool {
        OPEN.get() > 0
    }

    /// Ends the group and, if it was the outermost, waits until the calls of these communicators
    /// have been launched.
    ///
    /// # Errors
    /// What NCCL answers, and [`NcclError::Deadline`] where it does not in time.
    pub fn end(mut self, communicators: &[&Communicator]) -> Result<(), NcclError> {
        self.leave()?;
        if Group::is_open() {
            return Ok(());
        }
        // One limit for all of them: they are launched together.
        let limit = communicators.first().map(|first| first.limits().launch).unwrap_or_default();
        let deadline = Deadline::new(Function::GroupEnd.name(), limit);
        communicators.iter().try_for_each(|communicator| deadline.poll(|| communicator.is_idle()))
    }

    /// Ends the group; whether what it started is done is asked elsewhere.
    pub(super) fn leave(&mut self) -> Result<(), NcclError> {
        self.ended = true;
        OPEN.set(OPEN.get().saturating_sub(1));
        // SAFETY: this thread opened the group, and nobody has ended it.
        let result = unsafe { (self.end)() };
        self.library.answered(Function::GroupEnd, result).map(drop)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.ended {
            // Whoever drops an open group has an earlier error to tell.
            let _ = self.leave();
        }
    }
}
