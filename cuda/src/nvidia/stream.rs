//! A stream, events on it, and graphs captured from it.

use std::sync::Arc;

use cudarc::driver::{result, sys};
use kernelgauge_data::{Failure, Nanos};

use super::context::Context;
use super::failure::failed;

/// A queue of work in a context. It waits for the context's synchronous copies, which write
/// operands.
#[derive(Debug)]
pub struct Stream {
    context: Arc<Context>,
    raw: sys::CUstream,
}

// SAFETY: the driver lets any thread use a stream of a context that it made current.
unsafe impl Send for Stream {}

impl Stream {
    /// A new stream.
    ///
    /// # Errors
    /// What the driver says.
    pub fn new(context: &Arc<Context>) -> Result<Self, Failure> {
        context.make_current()?;
        let raw = result::stream::create(result::stream::StreamKind::Default);
        let raw = raw.map_err(failed("cuStreamCreate"))?;
        Ok(Stream { context: Arc::clone(context), raw })
    }

    /// Its context.
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// The driver's handle.
    pub fn raw(&self) -> sys::CUstream {
        self.raw
    }

    /// Waits until everything enqueued has ended.
    ///
    /// # Errors
    /// What the driver says, of any of it.
    pub fn synchronize(&self) -> Result<(), Failure> {
        // SAFETY: the stream lives as long as `self`.
        unsafe { result::stream::synchronize(self.raw) }.map_err(failed("cuStreamSynchronize"))
    }

    /// A graph of what `enqueue` enqueues.
    ///
    /// # Errors
    /// Those of `enqueue`, and what the driver says of work that it cannot capture.
    pub fn capture(&self, enqueue: impl FnOnce() -> Result<(), Failure>) -> Result<Graph, Failure> {
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream lives as long as `self`.
        unsafe { result::stream::begin_capture(self.raw, mode) }
            .map_err(failed("cuStreamBeginCapture"))?;
        let enqueued = enqueue();
        // SAFETY: as above. A capture is ended whatever came of it: until then the stream
        // refuses everything else.
        let graph = unsafe { result::stream::end_capture(self.raw) };
        enqueued?;
        let graph = graph.map_err(failed("cuStreamEndCapture"))?;
        let flags = sys::CUgraphInstantiate_flags(0);
        // SAFETY: the graph was captured just now.
        let executable = unsafe { result::graph::instantiate(graph, flags) };
        // SAFETY: the graph is destroyed once; an executable one does not need it any more.
        let _ = unsafe { result::graph::destroy(graph) };
        let executable = executable.map_err(failed("cuGraphInstantiate"))?;
        let graph = Graph { context: Arc::clone(&self.context), raw: executable };
        // SAFETY: graph and stream are valid.
        unsafe { result::graph::upload(graph.raw, self.raw) }.map_err(failed("cuGraphUpload"))?;
        Ok(graph)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.context.make_current().is_ok() {
            // SAFETY: created in `new` and destroyed nowhere else.
            let _ = unsafe { result::stream::destroy(self.raw) };
        }
    }
}

/// Work that is launched as one.
#[derive(Debug)]
pub struct Graph {
    context: Arc<Context>,
    raw: sys::CUgraphExec,
}

impl Graph {
    /// Enqueues it.
    ///
    /// # Errors
    /// What the driver says.
    pub fn launch(&self, stream: &Stream) -> Result<(), Failure> {
        // SAFETY: both are valid, and of one context.
        unsafe { result::graph::launch(self.raw, stream.raw) }.map_err(failed("cuGraphLaunch"))
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if self.context.make_current().is_ok() {
            // SAFETY: instantiated in `capture` and destroyed nowhere else.
            let _ = unsafe { result::graph::exec_destroy(self.raw) };
        }
    }
}

/// A moment on a stream.
#[derive(Debug)]
pub struct Event {
    context: Arc<Context>,
    raw: sys::CUevent,
}

// SAFETY: the driver lets any thread use an event of a context that it made current.
unsafe impl Send for Event {}

impl Event {
    /// A new event that keeps time.
    ///
    /// # Errors
    /// What the driver says.
    pub fn new(context: &Arc<Context>) -> Result<Self, Failure> {
        context.make_current()?;
        let raw = result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT);
        let raw = raw.map_err(failed("cuEventCreate"))?;
        Ok(Event { context: Arc::clone(context), raw })
    }

    /// Marks the moment when everything enqueued before has ended.
    ///
    /// # Errors
    /// What the driver says.
    pub fn record(&self, stream: &Stream) -> Result<(), Failure> {
        // SAFETY: both are valid, and of one context.
        unsafe { result::event::record(self.raw, stream.raw) }.map_err(failed("cuEventRecord"))
    }

    /// Whether everything enqueued before it has ended; asking does not wait.
    ///
    /// # Errors
    /// What the driver says, of any of it.
    pub fn has_happened(&self) -> Result<bool, Failure> {
        self.context.make_current()?;
        // SAFETY: the event lives as long as `self`.
        match unsafe { result::event::query(self.raw) } {
            Err(error) if error.0 == sys::CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            answer => answer.map(|()| true).map_err(failed("cuEventQuery")),
        }
    }

    /// The time from `self` to `end`, both of which have happened.
    ///
    /// # Errors
    /// [`Failure::BelowTimerResolution`] for a time that is zero, negative or no number: it is
    /// no measurement, and the caller takes a longer one. Else what the driver says.
    pub fn until(&self, end: &Event) -> Result<Nanos, Failure> {
        // SAFETY: both events are valid, and recorded with timing.
        let milliseconds = unsafe { result::event::elapsed(self.raw, end.raw) };
        let milliseconds = milliseconds.map_err(failed("cuEventElapsedTime"))?;
        Nanos::measured(f64::from(milliseconds) * 1e6).map_err(|_| Failure::BelowTimerResolution)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if self.context.make_current().is_ok() {
            // SAFETY: created in `new` and destroyed nowhere else.
            let _ = unsafe { result::event::destroy(self.raw) };
        }
    }
}
