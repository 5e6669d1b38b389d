//! Turns an operation on a stream into a [`Workload`]: graphs, flushed caches, events.
//!
//! *Hot*: up to [`MOST_IN_GRAPH`] executions are captured into one graph, and graphs are
//! launched back to back between two events. The host takes microseconds to launch, so one more
//! graph runs before the first event: while it does, the host enqueues everything else, and the
//! time between the events is the GPU's alone. *Cold*: before each execution more than the last
//! cache is overwritten, and each execution has its own pair of events; the time is their sum.
//! What the driver cannot capture, or may not, is enqueued one by one: copies of pageable memory,
//! and copies between GPUs that do not reach each other.
//!
//! Events resolve half a microsecond; what is too short for them is timed longer by `calibrate`.

use kernelgauge_data::{CacheState, Failure, Manner, Nanos};

use super::memory::DeviceBuffer;
use super::sm_clock::SmClock;
use super::stream::{Event, Graph, Stream};
use super::throttle::Throttle;
use crate::device::{Timing, Workload};

/// Executions in one graph: enough that the gap between two graphs, about a microsecond, does
/// not matter, and few enough to instantiate in a millisecond.
const MOST_IN_GRAPH: u32 = 64;
/// A graph this long hides nothing by running once more: the host needs only microseconds.
const LONG_GRAPH: Nanos = Nanos::new(2_000_000);
/// Cold executions enqueued before the host waits for them.
const PAIRS: usize = 16;
/// What the flush writes.
const FLUSH_VALUE: u8 = 0x5a;

/// Work that can be enqueued again and again.
pub trait Operation {
    /// The function of the driver, or the kernel, that does it.
    fn name(&self) -> &str;

    /// Whether the driver can capture it into a graph.
    fn graphable(&self) -> bool {
        true
    }

    /// Enqueues it once.
    ///
    /// # Errors
    /// What the driver says.
    fn enqueue(&mut self, stream: &Stream) -> Result<(), Failure>;

    /// Spoils the result, so that an old one does not pass for a new one.
    ///
    /// # Errors
    /// What the driver says.
    fn spoil(&mut self) -> Result<(), Failure>;

    /// Compares the result with what it must be. Nothing is enqueued any more.
    ///
    /// # Errors
    /// [`Failure::WrongResult`], or what the driver says.
    fn compare(&mut self) -> Result<(), Failure>;
}

/// What an operation is timed with.
#[derive(Debug)]
pub struct Bench<'device> {
    /// Where it runs.
    pub stream: &'device Stream,
    /// Pairs of events.
    pub pairs: &'device [(Event, Event)],
    /// Memory to overwrite before each cold execution; none for hot ones.
    pub flush: Option<&'device DeviceBuffer>,
    /// What tells whether the clock was lowered.
    pub throttle: &'device mut Throttle,
    /// What tells the clock of the multiprocessors; none without kernels of our own.
    pub clock: Option<&'device SmClock>,
}

impl Bench<'_> {
    /// Enqueues what comes before a cold execution; nothing before a hot one.
    ///
    /// # Errors
    /// What the driver says.
    pub fn overwrite_cache(&self) -> Result<(), Failure> {
        let Some(flush) = self.flush else { return Ok(()) };
        super::fill::enqueue_bytes(flush, FLUSH_VALUE, self.stream)
    }
}

/// Makes the pairs of events of a bench.
///
/// # Errors
/// What the driver says.
pub fn pairs(stream: &Stream) -> Result<Vec<(Event, Event)>, Failure> {
    let event = || Event::new(stream.context());
    (0..PAIRS).map(|_| Ok((event()?, event()?))).collect()
}

/// The executions of a sample, as they are launched.
#[derive(Debug)]
struct Captured {
    executions: u32,
    graph: Graph,
    last: Option<Nanos>,
}

/// An operation on a bench.
#[derive(Debug)]
pub struct Timed<'device, O> {
    operation: O,
    bench: Bench<'device>,
    kernel: String,
    captured: Option<Captured>,
}

impl<'device, O: Operation + 'device> Timed<'device, O> {
    /// `operation` in `cache` state. The launch mode is part of the kernel's name, because it
    /// is part of the time.
    pub fn boxed(
        operation: O,
        cache: CacheState,
        bench: Bench<'device>,
    ) -> Box<dyn Workload + 'device> {
        let mode = match cache {
            CacheState::Cold => "flushed",
            _ if operation.graphable() => "graph",
            _ => "stream",
        };
        let kernel = format!("{} ({mode})", operation.name());
        Box::new(Timed { operation, bench, kernel, captured: None })
    }

    /// `operation` on operands that are in no cache state of their own, in another manner than the
    /// usual one, which the kernel's name tells.
    pub fn in_manner(
        operation: O,
        manner: Manner,
        bench: Bench<'device>,
    ) -> Box<dyn Workload + 'device> {
        let mode = if operation.graphable() { "graph" } else { "stream" };
        let kernel = format!("{} ({mode}, {manner})", operation.name());
        Box::new(Timed { operation, bench, kernel, captured: None })
    }

    /// Executions in graphs, back to back; as many as make whole graphs.
    fn time_graphs(&mut self, executions: u32) -> Result<(Nanos, u32), Failure> {
        let each = executions.clamp(1, MOST_IN_GRAPH);
        let launches = executions.div_ceil(each).max(1);
        let Timed { operation, bench, captured, .. } = self;
        let stream = bench.stream;
        if captured.as_ref().is_none_or(|captured| captured.executions != each) {
            let graph = stream.capture(|| (0..each).try_for_each(|_| operation.enqueue(stream)))?;
            *captured = Some(Captured { executions: each, graph, last: None });
        }
        let Some(Captured { graph, last, .. }) = captured else {
            return Err(Failure::Device("the graph is gone".to_owned()));
        };
        let Some((begin, end)) = bench.pairs.first() else { return Err(no_events()) };
        if last.is_none_or(|last| last < LONG_GRAPH) {
            graph.launch(stream)?;
        }
        begin.record(stream)?;
        for _ in 0..launches {
            graph.launch(stream)?;
        }
        end.record(stream)?;
        bench.throttle.look();
        stream.synchronize()?;
        let elapsed = begin.until(end)?;
        *last = Some(Nanos::new(elapsed.get() / u64::from(launches)));
        Ok((elapsed, launches.saturating_mul(each)))
    }

    /// Executions one by one between two events.
    fn time_stream(&mut self, executions: u32) -> Result<(Nanos, u32), Failure> {
        let Timed { operation, bench, .. } = self;
        let executions = executions.max(1);
        let Some((begin, end)) = bench.pairs.first() else { return Err(no_events()) };
        begin.record(bench.stream)?;
        (0..executions).try_for_each(|_| operation.enqueue(bench.stream))?;
        end.record(bench.stream)?;
        bench.throttle.look();
        bench.stream.synchronize()?;
        Ok((begin.until(end)?, executions))
    }

    /// Executions each after a flush and between their own events.
    fn time_flushed(&mut self, executions: u32) -> Result<(Nanos, u32), Failure> {
        let Timed { operation, bench, .. } = self;
        let executions = executions.max(1);
        let mut left = executions as usize;
        let mut elapsed = Nanos::default();
        while left > 0 {
            let pairs = &bench.pairs[..left.min(bench.pairs.len())];
            if pairs.is_empty() {
                return Err(no_events());
            }
            for (begin, end) in pairs {
                bench.overwrite_cache()?;
                begin.record(bench.stream)?;
                operation.enqueue(bench.stream)?;
                end.record(bench.stream)?;
            }
            bench.throttle.look();
            bench.stream.synchronize()?;
            for (begin, end) in pairs {
                elapsed = elapsed + begin.until(end)?;
            }
            left -= pairs.len();
        }
        Ok((elapsed, executions))
    }
}

fn no_events() -> Failure {
    Failure::Device("no events to time with".to_owned())
}

impl<'device, O: Operation + 'device> Workload for Timed<'device, O> {
    fn kernel(&self) -> &str {
        &self.kernel
    }

    fn verify(&mut self) -> Result<(), Failure> {
        let Timed { operation, bench, .. } = self;
        bench.stream.context().make_current()?;
        operation.spoil()?;
        bench.stream.context().make_current()?;
        operation.enqueue(bench.stream)?;
        bench.stream.synchronize()?;
        let compared = operation.compare();
        bench.stream.context().make_current()?;
        compared
    }

    fn time(&mut self, executions: u32) -> Result<Timing, Failure> {
        self.bench.stream.context().make_current()?;
        self.bench.throttle.begin();
        let (elapsed, executions) = match self.bench.flush {
            Some(_) => self.time_flushed(executions)?,
            None if self.operation.graphable() => self.time_graphs(executions)?,
            None => self.time_stream(executions)?,
        };
        let Bench { stream, throttle, clock, .. } = &self.bench;
        // Read at once, and outside the events: the clock changes within milliseconds.
        let sm_clock_mhz = clock.map(|clock| clock.read(stream)).transpose()?.flatten();
        let (throttled, temperature_c) = (throttle.lowered(), throttle.temperature_c());
        let timing = Timing::of(elapsed, executions);
        Ok(Timing { throttled, sm_clock_mhz, temperature_c, ..timing })
    }
}
