//! Streams, events and graphs: one timeline for the whole process.

use std::ffi::{c_uint, c_ulonglong, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::clock::{EVENT, GRAPH, begin_capture, end_capture, now, pass};
use crate::device::{context, waiting};
use crate::fault::{health, reported, synchronised};
use crate::{
    CAPTURE_UNSUPPORTED, DONE, INVALID_CONTEXT, INVALID_HANDLE, INVALID_VALUE, NOT_READY, Status,
    give,
};

/// Times of events, or durations of graphs, by their number, which is their handle.
static EVENTS: Mutex<Vec<f64>> = Mutex::new(Vec::new());
static GRAPHS: Mutex<Vec<f64>> = Mutex::new(Vec::new());

/// What libraries that stand in for NVIDIA's have enqueued, by a number that counts up, and the
/// events behind it, which happen when all up to the number beside them has ended.
struct Pending {
    issued: u64,
    oldest: u64,
    events: Vec<(usize, u64)>,
}

static PENDING: Mutex<Pending> =
    Mutex::new(Pending { issued: 0, oldest: u64::MAX, events: Vec::new() });

fn pending() -> MutexGuard<'static, Pending> {
    PENDING.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pending {
    fn is_empty(&self) -> bool {
        self.oldest == u64::MAX
    }

    fn has(&self, event: usize) -> bool {
        self.events.iter().any(|(known, _)| *known == event)
    }
}

/// What such a library says whenever work was enqueued or has ended: the last number it gave, and
/// the least whose work has not ended (`u64::MAX` for none). Events before that one happen now.
#[unsafe(no_mangle)]
extern "C" fn kernelgauge_fake_pending(issued: u64, oldest: u64) {
    let mut pending = pending();
    (pending.issued, pending.oldest) = (issued, oldest);
    let now = now();
    let mut events = EVENTS.lock().unwrap_or_else(PoisonError::into_inner);
    pending.events.retain(|(event, after)| {
        let waits = *after >= oldest;
        if let (false, Some(time)) = (waits, events.get_mut(*event)) {
            *time = now;
        }
        waits
    });
}

/// Added to the handle of a context, it makes that of its streams.
const STREAM: usize = 0x10_0000;

/// The contexts that events were made in, by their number.
static CONTEXTS: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// Whether `context` is that of `stream`; the default stream is the current context's.
pub fn is_of(stream: *mut c_void, context: usize) -> bool {
    stream.is_null() || stream as usize == STREAM + context
}

/// Adds a value; its handle is its place, counted from one, so that none is null.
fn add(values: &Mutex<Vec<f64>>, value: f64) -> *mut c_void {
    let mut values = values.lock().unwrap_or_else(PoisonError::into_inner);
    values.push(value);
    values.len() as *mut c_void
}

fn get(values: &Mutex<Vec<f64>>, handle: *mut c_void) -> Option<f64> {
    let values = values.lock().unwrap_or_else(PoisonError::into_inner);
    values.get((handle as usize).wrapping_sub(1)).copied()
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamCreate(stream: Option<&mut *mut c_void>, _flags: c_uint) -> Status {
    let context = context();
    if context == 0 {
        return INVALID_CONTEXT;
    }
    give(stream, (STREAM + context) as *mut c_void).max(health())
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamDestroy_v2(_stream: *mut c_void) -> Status {
    health()
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamSynchronize(stream: *mut c_void) -> Status {
    let refused = waiting(CAPTURE_UNSUPPORTED);
    if refused != DONE {
        return refused;
    }
    if stream.is_null() {
        // What went to it has been done, and is not among the waits that are counted.
        return health();
    }
    while !pending().is_empty() {
        std::thread::sleep(Duration::from_millis(1));
    }
    synchronised()
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamBeginCapture_v2(_stream: *mut c_void, _mode: c_uint) -> Status {
    begin_capture();
    health()
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamEndCapture(_stream: *mut c_void, graph: Option<&mut *mut c_void>) -> Status {
    match end_capture() {
        Some(work) => give(graph, add(&GRAPHS, work)).max(health()),
        None => INVALID_VALUE,
    }
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphInstantiateWithFlags(
    executable: Option<&mut *mut c_void>,
    graph: *mut c_void,
    _flags: c_ulonglong,
) -> Status {
    give(executable, graph).max(health())
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphDestroy(_graph: *mut c_void) -> Status {
    health()
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphExecDestroy(_executable: *mut c_void) -> Status {
    health()
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphUpload(_executable: *mut c_void, _stream: *mut c_void) -> Status {
    health()
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphLaunch(executable: *mut c_void, _stream: *mut c_void) -> Status {
    match get(&GRAPHS, executable) {
        Some(work) => {
            pass(work + GRAPH);
            health()
        }
        None => INVALID_VALUE,
    }
}

#[unsafe(no_mangle)]
extern "C" fn cuEventCreate(event: Option<&mut *mut c_void>, _flags: c_uint) -> Status {
    let context = context();
    if context == 0 {
        return INVALID_CONTEXT;
    }
    let mut contexts = CONTEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    contexts.push(context);
    give(event, add(&EVENTS, 0.0)).max(health())
}

#[unsafe(no_mangle)]
extern "C" fn cuEventDestroy_v2(_event: *mut c_void) -> Status {
    health()
}

#[unsafe(no_mangle)]
extern "C" fn cuEventRecord(event: *mut c_void, stream: *mut c_void) -> Status {
    let contexts = CONTEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    let context = contexts.get((event as usize).wrapping_sub(1)).copied();
    if context.is_some_and(|context| !is_of(stream, context)) {
        return INVALID_HANDLE;
    }
    drop(contexts);
    pass(EVENT);
    let place = (event as usize).wrapping_sub(1);
    let mut pending = pending();
    pending.events.retain(|(known, _)| *known != place);
    if !pending.is_empty() {
        let after = pending.issued;
        pending.events.push((place, after));
    }
    let mut events = EVENTS.lock().unwrap_or_else(PoisonError::into_inner);
    match events.get_mut(place) {
        Some(time) => {
            *time = now();
            health()
        }
        None => INVALID_VALUE,
    }
}

#[unsafe(no_mangle)]
extern "C" fn cuEventQuery(event: *mut c_void) -> Status {
    let waits = pending().has((event as usize).wrapping_sub(1));
    if waits { NOT_READY } else { synchronised() }
}

#[unsafe(no_mangle)]
extern "C" fn cuEventElapsedTime_v2(
    milliseconds: Option<&mut f32>,
    begin: *mut c_void,
    end: *mut c_void,
) -> Status {
    let (Some(begin), Some(end)) = (get(&EVENTS, begin), get(&EVENTS, end)) else {
        return INVALID_VALUE;
    };
    give(milliseconds, reported((end - begin) / 1e3) as f32).max(health())
}
