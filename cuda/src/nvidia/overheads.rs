//! What launching costs, apart from any work: constants of host, driver and GPU, each measured
//! as a line over how often.
//!
//! | op | time of | by |
//! |---|---|---|
//! | `launch/kernel` | `count` calls that launch an empty kernel | the host's clock |
//! | `launch/copy` | `count` calls that copy 64 page-locked bytes to the GPU | the host's clock |
//! | `launch/graph` | one call that launches a graph of `count` empty kernels | the host's clock |
//! | `gap/stream` | `count` empty kernels queued on a stream, on the GPU | events |
//! | `gap/graph` | a graph of `count` empty kernels, on the GPU | events |
//! | `event/record` | `count` calls that record an event | the host's clock |
//! | `synchronise/idle` | `count` waits for a stream that has nothing to do | the host's clock |
//! | `synchronise/kernel` | `count` times: launch an empty kernel and wait for it | the host's clock |
//!
//! Two counts give the cost of one more. Calls are timed while the stream is empty at first, as
//! in a program that is bound by its host; kernels on the GPU are queued behind one that spins,
//! so that none waits for its own launch. There is no result to compare with a reference.

use std::time::{Duration, Instant};

use kernelgauge_data::point::launching::COUNT;
use kernelgauge_data::{CopyDirection, CopyPoint, CustomPoint, Failure, Nanos};

use super::copy::HostCopy;
use super::loaded::LoadedKernels;
use super::memory::DeviceBuffer;
use super::module::{Argument, Launch};
use super::operation::{Bench, Operation as _};
use super::stream::{Graph, Stream};
use crate::device::{Timing, Workload};

/// Most launches of one timing: fewer than a stream's queue holds, from where on the host waits
/// for the GPU instead of launching (1024 on GPUs so far, by what others report).
const MOST: u64 = 1024;
/// How long the kernel before those that are timed on the GPU spins: so long for each of them,
/// and this much more. A launch takes a few microseconds.
const SPIN_EACH: u64 = 8_000;
const SPIN_MORE: u64 = 100_000;
/// A spin that was too short is tried again, twice as long, so many times.
const TRIES: u32 = 4;

/// A copy so small that its launch is all there is to it.
const COPIED: CopyPoint =
    CopyPoint { direction: CopyDirection::HostToDevice, pinned: true, bytes: 64 };

/// What is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cost {
    LaunchKernel,
    LaunchCopy,
    LaunchGraph,
    GapOnStream,
    GapInGraph,
    RecordEvent,
    WaitIdle,
    WaitForKernel,
}

impl Cost {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "launch/kernel" => Cost::LaunchKernel,
            "launch/copy" => Cost::LaunchCopy,
            "launch/graph" => Cost::LaunchGraph,
            "gap/stream" => Cost::GapOnStream,
            "gap/graph" => Cost::GapInGraph,
            "event/record" => Cost::RecordEvent,
            "synchronise/idle" => Cost::WaitIdle,
            "synchronise/kernel" => Cost::WaitForKernel,
            _ => return None,
        })
    }

    fn call(self) -> &'static str {
        match self {
            Cost::LaunchKernel => "cuLaunchKernel",
            Cost::LaunchCopy => "cuMemcpyHtoDAsync",
            Cost::LaunchGraph => "cuGraphLaunch",
            Cost::GapOnStream => "empty (stream)",
            Cost::GapInGraph => "empty (graph)",
            Cost::RecordEvent => "cuEventRecord",
            Cost::WaitIdle => "cuStreamSynchronize",
            Cost::WaitForKernel => "cuLaunchKernel, cuStreamSynchronize",
        }
    }

    /// Whether it can do without kernels of our own.
    fn needs_kernel(self) -> bool {
        !matches!(self, Cost::LaunchCopy | Cost::RecordEvent | Cost::WaitIdle)
    }
}

/// What of `point` is timed, and how often; why not, where nothing is.
fn cost_of(point: &CustomPoint) -> Result<(Cost, u64), String> {
    let Some(cost) = Cost::of(&point.op) else {
        return Err(format!("`{}` on a GPU", point.op));
    };
    match point.parameters.as_slice() {
        [(name, count)] if name == COUNT && (1..=MOST).contains(count) => Ok((cost, *count)),
        _ => Err(format!("`{}` with parameters other than {COUNT}=1..{MOST}", point.op)),
    }
}

/// Why `point` cannot be timed; `missing` says why there are no kernels of our own.
pub fn unsupported(point: &CustomPoint, missing: Option<String>) -> Option<String> {
    match cost_of(point) {
        Ok((cost, _)) => missing.filter(|_| cost.needs_kernel()),
        Err(what) => Some(what),
    }
}

/// A cost on a bench.
#[derive(Debug)]
pub struct Overhead<'device> {
    cost: Cost,
    count: u64,
    parts: Parts,
    bench: Bench<'device>,
}

/// What a cost needs beside a stream.
#[derive(Debug)]
pub struct Parts {
    empty: Option<Launch>,
    copy: Option<HostCopy>,
    graph: Option<Graph>,
    spin: Option<(DeviceBuffer, Launch)>,
    spin_ns: u64,
}

impl Parts {
    /// What `point` needs.
    ///
    /// # Errors
    /// When it cannot be timed, or what the driver says.
    pub fn new(
        point: &CustomPoint,
        stream: &Stream,
        kernels: &mut LoadedKernels,
    ) -> Result<Self, Failure> {
        let (cost, count) = cost_of(point).map_err(Failure::Device)?;
        let spin_ns = SPIN_MORE + SPIN_EACH * count;
        let mut parts = Parts { empty: None, copy: None, graph: None, spin: None, spin_ns };
        if cost == Cost::LaunchCopy {
            parts.copy = Some(HostCopy::new(stream.context(), &COPIED, 0)?);
        }
        if cost.needs_kernel() {
            let empty = kernels.launch("empty", &[], &[])?;
            // Code that is loaded when it is first launched must not be so during a capture.
            empty.enqueue(stream)?;
            stream.synchronize()?;
            if matches!(cost, Cost::LaunchGraph | Cost::GapInGraph) {
                let captured = || (0..count).try_for_each(|_| empty.enqueue(stream));
                parts.graph = Some(stream.capture(captured)?);
            }
            parts.empty = Some(empty);
        }
        if matches!(cost, Cost::GapOnStream | Cost::GapInGraph) {
            let out = DeviceBuffer::new(stream.context(), 16)?;
            let spin = kernels.launch("sample_clock", &[], &spin(&out, parts.spin_ns))?;
            parts.spin = Some((out, spin));
        }
        Ok(parts)
    }

    fn launch_kernel(&self, stream: &Stream) -> Result<(), Failure> {
        self.empty.as_ref().map_or_else(no_kernel, |empty| empty.enqueue(stream))
    }

    fn launch_copy(&mut self, stream: &Stream) -> Result<(), Failure> {
        match &mut self.copy {
            Some(copy) => copy.enqueue(stream),
            None => Err(Failure::Device("the copy is gone".to_owned())),
        }
    }

    fn launch_graph(&self, stream: &Stream) -> Result<(), Failure> {
        self.graph.as_ref().map_or_else(no_kernel, |graph| graph.launch(stream))
    }

    /// Enqueues the kernel that spins; how long it does.
    fn spin(&self, stream: &Stream) -> Result<Duration, Failure> {
        self.spin.as_ref().map_or_else(no_kernel, |(_, spin)| spin.enqueue(stream))?;
        Ok(Duration::from_nanos(self.spin_ns))
    }

    /// Makes the next spin twice as long.
    fn spin_longer(&mut self) {
        self.spin_ns = self.spin_ns.saturating_mul(2);
        if let Some((out, launch)) = &mut self.spin {
            *launch = launch.with(&spin(out, self.spin_ns));
        }
    }
}

fn spin(out: &DeviceBuffer, nanoseconds: u64) -> [Argument; 2] {
    [out.into(), nanoseconds.into()]
}

fn no_kernel() -> Result<(), Failure> {
    Err(Failure::Device("the kernel is gone".to_owned()))
}

impl<'device> Overhead<'device> {
    /// The cost that `point` names, on a bench.
    ///
    /// # Errors
    /// When there is no such cost.
    pub fn boxed(
        point: &CustomPoint,
        parts: Parts,
        bench: Bench<'device>,
    ) -> Result<Box<dyn Workload + 'device>, Failure> {
        let (cost, count) = cost_of(point).map_err(Failure::Device)?;
        Ok(Box::new(Overhead { cost, count, parts, bench }))
    }

    fn once(&mut self) -> Result<Nanos, Failure> {
        match self.cost {
            Cost::GapOnStream | Cost::GapInGraph => self.on_gpu(),
            _ => self.on_host(),
        }
    }

    /// Time of the calls, which begin with nothing queued; their work is waited for outside.
    fn on_host(&mut self) -> Result<Nanos, Failure> {
        let Overhead { cost, count, parts, bench } = self;
        let stream = bench.stream;
        let Some((event, _)) = bench.pairs.first() else {
            return Err(Failure::Device("no events to time with".to_owned()));
        };
        let began = Instant::now();
        match cost {
            Cost::LaunchGraph => parts.launch_graph(stream)?,
            Cost::LaunchCopy => (0..*count).try_for_each(|_| parts.launch_copy(stream))?,
            Cost::RecordEvent => (0..*count).try_for_each(|_| event.record(stream))?,
            Cost::WaitIdle => (0..*count).try_for_each(|_| stream.synchronize())?,
            Cost::WaitForKernel => (0..*count).try_for_each(|_| {
                parts.launch_kernel(stream)?;
                stream.synchronize()
            })?,
            _ => (0..*count).try_for_each(|_| parts.launch_kernel(stream))?,
        }
        let elapsed = began.elapsed();
        stream.synchronize()?;
        Ok(Nanos::new(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// Time on the GPU between events that are queued, with what lies between, while a kernel
    /// spins.
    fn on_gpu(&mut self) -> Result<Nanos, Failure> {
        let Overhead { cost, count, parts, bench } = self;
        let stream = bench.stream;
        let Some((begin, end)) = bench.pairs.first() else {
            return Err(Failure::Device("no events to time with".to_owned()));
        };
        for _ in 0..TRIES {
            let began = Instant::now();
            let spins = parts.spin(stream)?;
            begin.record(stream)?;
            match cost {
                Cost::GapInGraph => parts.launch_graph(stream)?,
                _ => (0..*count).try_for_each(|_| parts.launch_kernel(stream))?,
            }
            end.record(stream)?;
            let in_time = began.elapsed() < spins;
            stream.synchronize()?;
            if in_time {
                return begin.until(end);
            }
            parts.spin_longer();
        }
        Err(Failure::NoValidSamples("the host took longer to launch than a kernel spun".to_owned()))
    }
}

impl Workload for Overhead<'_> {
    fn kernel(&self) -> &str {
        self.cost.call()
    }

    /// Whether it runs at all.
    fn verify(&mut self) -> Result<(), Failure> {
        self.bench.stream.context().make_current()?;
        self.once().map(|_| ()).or_else(|failure| match failure {
            Failure::BelowTimerResolution => Ok(()),
            failure => Err(failure),
        })
    }

    fn has_result(&self) -> bool {
        false
    }

    fn time(&mut self, executions: u32) -> Result<Timing, Failure> {
        self.bench.stream.context().make_current()?;
        self.bench.throttle.begin();
        let executions = executions.max(1);
        let mut elapsed = Nanos::default();
        for _ in 0..executions {
            elapsed = elapsed + self.once()?;
        }
        self.bench.throttle.look();
        let Bench { stream, throttle, clock, .. } = &self.bench;
        let sm_clock_mhz = clock.map(|clock| clock.read(stream)).transpose()?.flatten();
        let (throttled, temperature_c) = (throttle.lowered(), throttle.temperature_c());
        let timing = Timing::of(elapsed, executions);
        Ok(Timing { throttled, sm_clock_mhz, temperature_c, ..timing })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(op: &str, name: &str, count: u64) -> CustomPoint {
        CustomPoint { op: op.to_owned(), parameters: vec![(name.to_owned(), count)] }
    }

    #[test]
    fn what_is_no_cost_is_refused_by_name() {
        assert_eq!(unsupported(&point("launch/kernel", COUNT, 1), None), None);
        let missing = || Some("no compiler".to_owned());
        assert_eq!(unsupported(&point("gap/graph", COUNT, 8), missing()), missing());
        assert_eq!(unsupported(&point("event/record", COUNT, 8), missing()), None);
        for bad in
            [point("launch", COUNT, 1), point("gap/stream", "n", 1), point("gap/stream", COUNT, 0)]
        {
            let what = unsupported(&bad, None).unwrap();
            assert!(what.contains(&format!("`{}`", bad.op)), "{what}");
        }
    }
}
