//! The collectives, on addresses of buffers and streams.
//!
//! Each call enqueues work on a stream and returns; when that work has ended is asked of the
//! stream ([`Communicator::wait`]). Outside a [`Group`] a call waits until it has been launched,
//! because NCCL takes no other call before.

use std::ffi::{c_int, c_void};

use super::bindings::{cudaStream_t, ncclResult_t};
use super::communicator::Communicator;
use super::element::{Element, Reduction};
use super::error::NcclError;
use super::function::Function;
use super::group::Group;

/// An address in a device's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DevicePointer(pub u64);

impl DevicePointer {
    fn raw(self) -> *mut c_void {
        self.0 as usize as *mut c_void
    }

    /// The address of the element that many further on.
    fn element(self, offset: u64, element: Element) -> Self {
        DevicePointer(self.0.wrapping_add(offset.wrapping_mul(element.size())))
    }
}

/// A stream of the driver (`CUstream`); the null stream is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stream(pub *mut c_void);

/// What a collective reads and writes, and where it is enqueued.
#[derive(Debug, Clone, Copy)]
pub struct Buffers {
    /// What is sent.
    pub send: DevicePointer,
    /// Where the result goes; the same as `send` for a collective in place.
    pub receive: DevicePointer,
    /// Elements, as [`elements`](super::elements) counts them.
    pub count: u64,
    /// Their type.
    pub element: Element,
    /// The stream the work is enqueued on.
    pub stream: Stream,
}

/// One rank's part of a buffer, in elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Where it begins.
    pub offset: u64,
    /// How long it is.
    pub count: u64,
}

/// The parts of an uneven all-to-all: one for each rank.
#[derive(Debug, Clone, Copy)]
pub struct Parts<'a> {
    /// What goes to each rank.
    pub send: &'a [Part],
    /// Where what comes from each rank is put.
    pub receive: &'a [Part],
}

/// Every method here has the same contract.
///
/// # Safety
/// The buffers lie in the memory of the communicator's device (or are registered with it), are
/// as large as the collective needs, and live until the stream has passed it. The stream is one
/// of that device.
///
/// # Errors
/// What NCCL answers; [`NcclError::MissingFunction`] where the library is too old;
/// [`NcclError::Deadline`] where the launch takes longer than its limit.
#[allow(clippy::missing_safety_doc, reason = "said once, for all of them")]
impl Communicator {
    /// Every rank ends with the reduction of all.
    pub unsafe fn all_reduce(
        &self,
        buffers: &Buffers,
        reduction: Reduction,
    ) -> Result<(), NcclError> {
        let all_reduce = &self.library().functions().ncclAllReduce;
        let call = self.library().function(Function::AllReduce, all_reduce)?;
        let (send, receive, count, kind, stream) = buffers.raw();
        // SAFETY: the buffers are the caller's responsibility; the communicator is live.
        let result =
            unsafe { call(send, receive, count, kind, reduction.value(), self.handle().0, stream) };
        self.launched(Function::AllReduce, result)
    }

    /// Every rank ends with its part of the reduction.
    pub unsafe fn reduce_scatter(
        &self,
        buffers: &Buffers,
        reduction: Reduction,
    ) -> Result<(), NcclError> {
        let reduce_scatter = &self.library().functions().ncclReduceScatter;
        let call = self.library().function(Function::ReduceScatter, reduce_scatter)?;
        let (send, receive, count, kind, stream) = buffers.raw();
        // SAFETY: the buffers are the caller's responsibility; the communicator is live.
        let result =
            unsafe { call(send, receive, count, kind, reduction.value(), self.handle().0, stream) };
        self.launched(Function::ReduceScatter, result)
    }

    /// The reduction to rank `root`.
    pub unsafe fn reduce(
        &self,
        buffers: &Buffers,
        reduction: Reduction,
        root: u32,
    ) -> Result<(), NcclError> {
        let call =
            self.library().function(Function::Reduce, &self.library().functions().ncclReduce)?;
        let root = self.peer(root)?;
        let (send, receive, count, kind, stream) = buffers.raw();
        // SAFETY: the buffers are the caller's responsibility; the communicator is live.
        let result = unsafe {
            call(send, receive, count, kind, reduction.value(), root, self.handle().0, stream)
        };
        self.launched(Function::Reduce, result)
    }

    /// The data of rank `root` to all.
    pub unsafe fn broadcast(&self, buffers: &Buffers, root: u32) -> Result<(), NcclError> {
        let broadcast = &self.library().functions().ncclBroadcast;
        let call = self.library().function(Function::Broadcast, broadcast)?;
        let root = self.peer(root)?;
        let (send, receive, count, kind, stream) = buffers.raw();
        // SAFETY: the buffers are the caller's responsibility; the communicator is live.
        let result = unsafe { call(send, receive, count, kind, root, self.handle().0, stream) };
        self.launched(Function::Broadcast, result)
    }

    /// Every rank ends with the data of all.
    pub unsafe fn all_gather(&self, buffers: &Buffers) -> Result<(), NcclError> {
        let all_gather = &self.library().functions().ncclAllGather;
        let call = self.library().function(Function::AllGather, all_gather)?;
        let (send, receive, count, kind, stream) = buffers.raw();
        // SAFETY: the buffers are the caller's responsibility; the communicator is live.
        let result = unsafe { call(send, receive, count, kind, self.handle().0, stream) };
        self.launched(Function::AllGather, result)
    }

    /// An equal part from every rank to every other: by one call where the library has it, else
    /// by sends and receives ([`Route`](super::Route) says which).
    pub unsafe fn all_to_all(&self, buffers: &Buffers) -> Result<(), NcclError> {
        let all_to_all = &self.library().functions().ncclAlltoAll;
        let Ok(call) = self.library().function(Function::AllToAll, all_to_all) else {
            let (ranks, count) = (u64::from(self.place().ranks), buffers.count);
            let parts: Vec<Part> =
                (0..ranks).map(|rank| Part { offset: rank * count, count }).collect();
            // SAFETY: the same buffers, part by part.
            return unsafe { self.all_to_all_v(buffers, Parts { send: &parts, receive: &parts }) };
        };
        let (send, receive, count, kind, stream) = buffers.raw();
        // SAFETY: the buffers are the caller's responsibility; the communicator is live.
        let result = unsafe { call(send, receive, count, kind, self.handle().0, stream) };
        self.launched(Function::AllToAll, result)
    }

    /// Unequal parts from every rank to every other, by sends and receives in one group. The
    /// count of the buffers plays no role.
    pub unsafe fn all_to_all_v(
        &self,
        buffers: &Buffers,
        parts: Parts<'_>,
    ) -> Result<(), NcclError> {
        let ranks = self.place().ranks;
        if [parts.send.len(), parts.receive.len()] != [ranks as usize; 2] {
            let (send, receive) = (parts.send.len(), parts.receive.len());
            let what = format!("{send} and {receive} parts for {ranks} ranks");
            return Err(NcclError::Argument { what });
        }
        let group = Group::start(self.library())?;
        for ((peer, to), from) in (0..ranks).zip(parts.send).zip(parts.receive) {
            let sent = Buffers {
                count: to.count,
                send: buffers.send.element(to.offset, buffers.element),
                ..*buffers
            };
            let receive = buffers.receive.element(from.offset, buffers.element);
            let received = Buffers { count: from.count, receive, ..*buffers };
            // SAFETY: parts of the caller's buffers.
            unsafe {
                self.send(&sent, peer)?;
                self.receive(&received, peer)?;
            }
        }
        group.end(&[self])
    }

    /// To the next rank and from the one before, in a ring.
    pub unsafe fn send_receive(&self, buffers: &Buffers) -> Result<(), NcclError> {
        let place = self.place();
        let next = (place.rank + 1) % place.ranks;
        let before = (place.rank + place.ranks - 1) % place.ranks;
        let group = Group::start(self.library())?;
        // SAFETY: the caller's buffers.
        unsafe {
            self.send(buffers, next)?;
            self.receive(buffers, before)?;
        }
        group.end(&[self])
    }

    /// All data to rank `root`: by one call where the library has it, else by sends and receives.
    pub unsafe fn gather(&self, buffers: &Buffers, root: u32) -> Result<(), NcclError> {
        let Ok(call) =
            self.library().function(Function::Gather, &self.library().functions().ncclGather)
        else {
            let group = Group::start(self.library())?;
            // SAFETY: the caller's buffers; only the root's receive buffer is written.
            unsafe {
                self.send(buffers, root)?;
                for (rank, part) in self.parts_at(root, buffers) {
                    let receive = buffers.receive.element(part, buffers.element);
                    self.receive(&Buffers { receive, ..*buffers }, rank)?;
                }
            }
            return group.end(&[self]);
        };
        let root = self.peer(root)?;
        let (send, receive, count, kind, stream) = buffers.raw();
        // SAFETY: the buffers are the caller's responsibility; the communicator is live.
        let result = unsafe { call(send, receive, count, kind, root, self.handle().0, stream) };
        self.launched(Function::Gather, result)
    }

    /// The parts of rank `root` to all: by one call where the library has it, else by sends and
    /// receives.
    pub unsafe fn scatter(&self, buffers: &Buffers, root: u32) -> Result<(), NcclError> {
        let Ok(call) =
            self.library().function(Function::Scatter, &self.library().functions().ncclScatter)
        else {
            let group = Group::start(self.library())?;
            // SAFETY: the caller's buffers; only the root's send buffer is read.
            unsafe {
                for (rank, part) in self.parts_at(root, buffers) {
                    let send = buffers.send.element(part, buffers.element);
                    self.send(&Buffers { send, ..*buffers }, rank)?;
                }
                self.receive(buffers, root)?;
            }
            return group.end(&[self]);
        };
        let root = self.peer(root)?;
        let (send, receive, count, kind, stream) = buffers.raw();
        // SAFETY: the buffers are the caller's responsibility; the communicator is live.
        let result = unsafe { call(send, receive, count, kind, root, self.handle().0, stream) };
        self.launched(Function::Scatter, result)
    }

    /// To one rank, which has to receive it.
    pub unsafe fn send(&self, buffers: &Buffers, peer: u32) -> Result<(), NcclError> {
        let call = self.library().function(Function::Send, &self.library().functions().ncclSend)?;
        let peer = self.peer(peer)?;
        let (send, _, count, kind, stream) = buffers.raw();
        // SAFETY: the buffers are the caller's responsibility; the communicator is live.
        let result = unsafe { call(send, count, kind, peer, self.handle().0, stream) };
        self.launched(Function::Send, result)
    }

    /// From one rank, which has to send it.
    pub unsafe fn receive(&self, buffers: &Buffers, peer: u32) -> Result<(), NcclError> {
        let call =
            self.library().function(Function::Receive, &self.library().functions().ncclRecv)?;
        let peer = self.peer(peer)?;
        let (_, receive, count, kind, stream) = buffers.raw();
        // SAFETY: the buffers are the caller's responsibility; the communicator is live.
        let result = unsafe { call(receive, count, kind, peer, self.handle().0, stream) };
        self.launched(Function::Receive, result)
    }

    /// Every rank and the offset of its part, if this is the root; nothing elsewhere.
    fn parts_at(&self, root: u32, buffers: &Buffers) -> impl Iterator<Item = (u32, u64)> + use<> {
        let place = self.place();
        let ranks = if place.rank == root { place.ranks } else { 0 };
        let count = buffers.count;
        (0..ranks).map(move |rank| (rank, u64::from(rank) * count))
    }

    fn peer(&self, rank: u32) -> Result<c_int, NcclError> {
        let ranks = self.place().ranks;
        c_int::try_from(rank).ok().filter(|_| rank < ranks).ok_or_else(|| NcclError::Argument {
            what: format!("there is no rank {rank} of {ranks}"),
        })
    }

    fn launched(&self, function: Function, result: ncclResult_t) -> Result<(), NcclError> {
        let done = self.library().answered(function, result)?;
        if done || Group::is_open() {
            return Ok(());
        }
        self.settle(function.name(), self.limits().launch)
    }
}

impl Buffers {
    fn raw(
        &self,
    ) -> (*const c_void, *mut c_void, usize, super::bindings::ncclDataType_t, cudaStream_t) {
        let Stream(stream) = self.stream;
        let (send, receive) = (self.send.raw().cast_const(), self.receive.raw());
        (send, receive, self.count as usize, self.element.value(), stream.cast())
    }
}
