//! The collectives, which write a line each, and what a test asks of the fake itself.

use std::ffi::{c_char, c_int};

use super::Answer;
use super::books::books;

/// A pointer or a stream: only its number is of interest.
type Address = usize;

/// One line: the call with all its arguments, buffers and stream as numbers.
macro_rules! line {
    ($name:literal, $($argument:ident),*) => {{
        let mut line = $name.to_owned();
        $(line.push_str(&format!(concat!(" ", stringify!($argument), " {}"), $argument));)*
        line
    }};
}

/// Exports one collective: its name in NCCL and here, and its arguments before the communicator.
macro_rules! collectives {
    ($($exported:ident $name:literal ($($argument:ident: $kind:ty),*);)*) => {
        $(
            #[unsafe(no_mangle)]
            pub extern "C" fn $exported(
                $($argument: $kind,)*
                handle: usize,
                stream: Address,
            ) -> Answer {
                books().call(handle, line!($name, $($argument,)* stream))
            }
        )*
    };
}

collectives! {
    ncclAllReduce "all_reduce" (from: Address, to: Address, count: usize, kind: u32, by: u32);
    ncclReduce "reduce" (from: Address, to: Address, count: usize, kind: u32, by: u32, root: c_int);
    ncclReduceScatter "reduce_scatter"
        (from: Address, to: Address, count: usize, kind: u32, by: u32);
    ncclBroadcast "broadcast" (from: Address, to: Address, count: usize, kind: u32, root: c_int);
    ncclAllGather "all_gather" (from: Address, to: Address, count: usize, kind: u32);
    ncclAlltoAll "all_to_all" (from: Address, to: Address, count: usize, kind: u32);
    ncclGather "gather" (from: Address, to: Address, count: usize, kind: u32, root: c_int);
    ncclScatter "scatter" (from: Address, to: Address, count: usize, kind: u32, root: c_int);
    ncclSend "send" (from: Address, count: usize, kind: u32, peer: c_int);
    ncclRecv "receive" (to: Address, count: usize, kind: u32, peer: c_int);
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
