//! The collectives, which write a line each and enqueue what moves, and what a test asks of the
//! stand-in itself.

use std::ffi::{c_char, c_int};

use super::Answer;
use super::books::books;
use super::op::{Kind, Op};

/// A pointer or a stream: where there is a stand-in driver, an address of the host.
type Address = usize;

/// What no argument states.
const NOTHING: Op =
    Op { kind: Kind::Nothing, send: 0, receive: 0, count: 0, dtype: 0, reduction: 0, peer: 0 };

/// One line: the call with all its arguments, buffers and stream as numbers.
macro_rules! line {
    ($name:literal, $($argument:ident),*) => {{
        let mut line = $name.to_owned();
        $(line.push_str(&format!(concat!(" ", stringify!($argument), " {}"), $argument));)*
        line
    }};
}

/// Puts an argument where it belongs.
macro_rules! place {
    ($op:ident, from, $value:expr) => {
        $op.send = $value
    };
    ($op:ident, to, $value:expr) => {
        $op.receive = $value
    };
    ($op:ident, count, $value:expr) => {
        $op.count = $value
    };
    ($op:ident, kind, $value:expr) => {
        $op.dtype = $value
    };
    ($op:ident, by, $value:expr) => {
        $op.reduction = $value
    };
    ($op:ident, root, $value:expr) => {
        $op.peer = $value as usize
    };
    ($op:ident, peer, $value:expr) => {
        $op.peer = $value as usize
    };
}

/// Exports one collective: its name in NCCL and here, and its arguments before the communicator.
macro_rules! collectives {
    ($($exported:ident $what:ident $name:literal ($($argument:ident: $kind:ty),*);)*) => {
        $(
            #[unsafe(no_mangle)]
            pub extern "C" fn $exported(
                $($argument: $kind,)*
                handle: usize,
                stream: Address,
            ) -> Answer {
                let mut op = Op { kind: Kind::$what, ..NOTHING };
                $(place!(op, $argument, $argument);)*
                books().call(handle, op, line!($name, $($argument,)* stream))
            }
        )*
    };
}

collectives! {
    ncclAllReduce AllReduce "all_reduce"
        (from: Address, to: Address, count: usize, kind: u32, by: u32);
    ncclReduce Reduce "reduce"
        (from: Address, to: Address, count: usize, kind: u32, by: u32, root: c_int);
    ncclReduceScatter ReduceScatter "reduce_scatter"
        (from: Address, to: Address, count: usize, kind: u32, by: u32);
    ncclBroadcast Broadcast "broadcast"
        (from: Address, to: Address, count: usize, kind: u32, root: c_int);
    ncclAllGather AllGather "all_gather" (from: Address, to: Address, count: usize, kind: u32);
    ncclAlltoAll AllToAll "all_to_all" (from: Address, to: Address, count: usize, kind: u32);
    ncclGather Gather "gather"
        (from: Address, to: Address, count: usize, kind: u32, root: c_int);
    ncclScatter Scatter "scatter"
        (from: Address, to: Address, count: usize, kind: u32, root: c_int);
    ncclSend Send "send" (from: Address, count: usize, kind: u32, peer: c_int);
    ncclRecv Receive "receive" (to: Address, count: usize, kind: u32, peer: c_int);
}

/// Whether all that was enqueued has ended: what an event of CUDA would say.
#[unsafe(no_mangle)]
pub extern "C" fn kernelgaugeFakeNcclEnded() -> bool {
    books().ended()
}

/// Writes the lines since the last time, each with a line feed, into `place` of `length` bytes;
/// returns how many bytes it wrote.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kernelgaugeFakeNcclLog(place: *mut c_char, length: usize) -> usize {
    let lines: String = books().log.drain(..).map(|line| line + "\n").collect();
    let written = lines.len().min(length);
    // SAFETY: the caller's place of `length` bytes.
    unsafe { place.copy_from_nonoverlapping(lines.as_ptr().cast(), written) };
    written
}

/// A call that moves nothing.
pub fn nothing(handle: usize, name: &str) -> Answer {
    books().call(handle, NOTHING, name.to_owned())
}
