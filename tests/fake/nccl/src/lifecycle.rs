//! Versions, ids, communicators and groups.

use std::ffi::{c_char, c_int, c_void};
use std::time::Duration;

use super::books::{ENDED, GROUPS, Member, books};
use super::{Answer, IN_PROGRESS, INVALID_ARGUMENT, INVALID_USAGE, SUCCESS, faults};

/// The magic number of configurations, and the first version that has them.
const MAGIC: u32 = 0xcafe_beef;
const FIRST_CONFIG: u32 = 21_400;

#[repr(C)]
pub struct Id {
    bytes: [u8; 128],
}

#[repr(C)]
pub struct Config {
    size: usize,
    magic: u32,
    version: u32,
    blocking: c_int,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclGetVersion(version: *mut c_int) -> Answer {
    // SAFETY: the caller's place for a number.
    unsafe { version.write(faults::number("VERSION").unwrap_or(22_902) as c_int) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn ncclGetErrorString(_: Answer) -> *const c_char {
    c"made up by the fake library".as_ptr()
}

#[unsafe(no_mangle)]
pub extern "C" fn ncclGetLastError(_: *mut c_void) -> *const c_char {
    c"".as_ptr()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclGetUniqueId(id: *mut Id) -> Answer {
    let mut books = books();
    books.ids += 1;
    let mut bytes = [0xa5; 128];
    bytes[..4].copy_from_slice(&books.ids.to_le_bytes());
    bytes[4..8].copy_from_slice(&std::process::id().to_le_bytes());
    // SAFETY: the caller's place for an id.
    unsafe { id.write(Id { bytes }) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclCommInitRankConfig(
    place: *mut usize,
    ranks: c_int,
    id: Id,
    rank: c_int,
    config: *const Config,
) -> Answer {
    // SAFETY: the caller's configuration.
    let config = unsafe { &*config };
    let sound = config.magic == MAGIC
        && config.size >= size_of::<Config>()
        && config.version >= FIRST_CONFIG
        && config.blocking == 0;
    if !sound || ranks < 1 || rank < 0 || rank >= ranks {
        return INVALID_ARGUMENT;
    }
    let mut books = books();
    let id: String = id.bytes[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    if books.members.values().any(|member| member.id == id && member.rank == rank) {
        return INVALID_USAGE;
    }
    books.next += 16;
    let handle = books.next;
    books.exchange.put(&format!("{id}-join-{rank}"), std::process::id().to_string().into());
    books.members.insert(handle, Member::new(id, rank, ranks));
    books.log.push(format!("join rank {rank} of {ranks}"));
    super::tuning::write(ranks);
    // SAFETY: the caller's place for an address.
    unsafe { place.write(handle) };
    IN_PROGRESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclCommGetAsyncError(handle: usize, state: *mut Answer) -> Answer {
    let answer = books().state(handle);
    // SAFETY: the caller's place for an answer.
    unsafe { state.write(answer) };
    SUCCESS
}

/// Writes a number of the communicator.
unsafe fn number(handle: usize, place: *mut c_int, of: impl Fn(&Member) -> c_int) -> Answer {
    let books = books();
    let Some(member) = books.members.get(&handle) else { return INVALID_ARGUMENT };
    // SAFETY: the caller's place for a number.
    unsafe { place.write(of(member)) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclCommCount(handle: usize, place: *mut c_int) -> Answer {
    // SAFETY: the caller's.
    unsafe { number(handle, place, |member| member.ranks) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclCommUserRank(handle: usize, place: *mut c_int) -> Answer {
    // SAFETY: the caller's.
    unsafe { number(handle, place, |member| member.rank) }
}

/// The device of a rank has the rank's number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclCommCuDevice(handle: usize, place: *mut c_int) -> Answer {
    // SAFETY: the caller's.
    unsafe { number(handle, place, |member| member.rank) }
}

#[unsafe(no_mangle)]
pub extern "C" fn ncclCommFinalize(handle: usize) -> Answer {
    super::calls::nothing(handle, "finalize")
}

#[unsafe(no_mangle)]
pub extern "C" fn ncclCommDestroy(handle: usize) -> Answer {
    end(handle, "destroy")
}

#[unsafe(no_mangle)]
pub extern "C" fn ncclCommAbort(handle: usize) -> Answer {
    end(handle, "abort")
}

fn end(handle: usize, name: &str) -> Answer {
    while faults::hangs("END") {
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut books = books();
    let Some(member) = books.members.remove(&handle) else { return INVALID_ARGUMENT };
    books.log.push(format!("{name} rank {} of {}", member.rank, member.ranks));
    books.exchange.put(&format!("{}-left-{}", member.id, member.rank), Vec::new());
    books.exchange.put(ENDED, Vec::new());
    books.exchange.forget(&format!("{}-join", member.id));
    books.progress();
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn ncclGroupStart() -> Answer {
    GROUPS.set(GROUPS.get() + 1);
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn ncclGroupEnd() -> Answer {
    if GROUPS.get() == 0 {
        return INVALID_USAGE;
    }
    GROUPS.set(GROUPS.get() - 1);
    if GROUPS.get() > 0 {
        return SUCCESS;
    }
    books().progress();
    IN_PROGRESS
}
