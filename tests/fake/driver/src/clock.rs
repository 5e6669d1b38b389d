//! The clock of the GPUs, which only work advances, and the law of how long work takes.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Microseconds a copy or fill takes before its first byte.
const LATENCY: f64 = 1.5;
/// Bytes per microsecond within a GPU, through the host's link, and between GPUs.
const MEMORY: f64 = 2.0e6;
const LINK: f64 = 2.5e4;
const PEER: f64 = 2.0e5;
/// Bytes per microsecond of a copy from memory that is not page-locked.
const PAGEABLE: f64 = 1.0e4;
/// Microseconds a kernel takes before its first byte.
const KERNEL: f64 = 2.0;
/// Microseconds to record an event.
pub const EVENT: f64 = 1.0;
/// Microseconds between two graphs.
pub const GRAPH: f64 = 1.0;

/// What moves bytes.
#[derive(Debug, Clone, Copy)]
pub enum Route {
    /// Read and written within a GPU.
    Within,
    /// Written within a GPU.
    Write,
    /// Page-locked host memory.
    Link,
    /// Other host memory.
    Pageable,
    /// Another GPU.
    Peer,
}

/// Microseconds to move `bytes` bytes.
pub fn duration(route: Route, bytes: usize) -> f64 {
    let bytes = bytes as f64;
    LATENCY
        + match route {
            Route::Within => 2.0 * bytes / MEMORY,
            Route::Write => bytes / MEMORY,
            Route::Link => bytes / LINK,
            Route::Pageable => 4.0 + bytes / PAGEABLE,
            Route::Peer => bytes / PEER,
        }
}

/// Microseconds of a kernel whose arguments point to so many bytes of memory.
pub fn kernel(bytes: usize) -> f64 {
    KERNEL + bytes as f64 / MEMORY
}

/// The time, and the work of a graph that is being captured.
#[derive(Debug, Default)]
struct State {
    now: f64,
    captured: Option<f64>,
}

static STATE: Mutex<State> = Mutex::new(State { now: 0.0, captured: None });

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Passes time now, or in the graph that is being captured; whether it was now.
pub fn pass(microseconds: f64) -> bool {
    let mut state = state();
    match &mut state.captured {
        Some(captured) => {
            *captured += microseconds;
            false
        }
        None => {
            state.now += microseconds;
            true
        }
    }
}

/// Microseconds since the process began.
pub fn now() -> f64 {
    state().now
}

/// Whether work goes to a graph.
pub fn is_capturing() -> bool {
    state().captured.is_some()
}

/// From now on work goes to a graph.
pub fn begin_capture() {
    state().captured = Some(0.0);
}

/// The work of the graph, in microseconds.
pub fn end_capture() -> Option<f64> {
    state().captured.take()
}
