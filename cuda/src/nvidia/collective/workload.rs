//! A collective as a [`Workload`]: verified once, then timed in flight or isolated.
//!
//! *In flight*: executions are enqueued back to back between two events on every rank, as
//! nccl-tests does; short ones take as long as launching them. *Isolated*: before each execution
//! the ranks are lined up, and it has its two events to itself. Either way the time is the
//! shortest of the ranks', from the last arrival on: the others waited for that one.

use kernelgauge_data::{Collective, CollectivePoint, Failure, Manner, Nanos};

use super::Collectives;
use super::content::Content;
use super::operand::Operand;
use super::ranks::{Local, Ranks};
use super::shape::{ROOT, Shape};
use crate::device::{Timing, Workload};
use crate::nccl::{self, Buffers, Element, Parts, Reduction, Route};
use crate::nvidia::throttle::Throttle;

/// A collective with its operands in place.
#[derive(Debug)]
pub struct CollectiveWorkload<'device> {
    home: &'device mut Collectives,
    throttle: &'device mut Throttle,
    point: CollectivePoint,
    shape: Shape,
    element: Element,
    manner: Manner,
    content: Content,
    operands: Vec<Operand>,
    kernel: String,
    last: Option<Nanos>,
}

impl<'device> CollectiveWorkload<'device> {
    /// `point` with its operands in the memory of the ranks of `home`, which are formed.
    ///
    /// # Errors
    /// When a GPU has no room, or what the driver says.
    pub fn new(
        home: &'device mut Collectives,
        throttle: &'device mut Throttle,
        point: &CollectivePoint,
        manner: Manner,
        seed: u64,
    ) -> Result<Self, Failure> {
        let library = home.library()?;
        let element = Element::of(point.dtype, library.version())?;
        let shape = Shape::of(point, seed)
            .ok_or_else(|| Failure::Device(format!("{point:?} has no whole parts")))?;
        let content = Content::new(seed, point.ranks as u32, point.dtype);
        let in_place = manner == Manner::InPlace;
        let operand = |local| Operand::new(local, point, &shape, &content, in_place);
        let operands =
            home.ranks(point.ranks)?.locals.iter().map(operand).collect::<Result<_, _>>()?;
        let call = match Route::of(point.collective, &library) {
            Route::Call(function) => function.name(),
            Route::SendsAndReceives => "ncclSend and ncclRecv",
        };
        let mark =
            if manner == Manner::Usual { "in flight".to_owned() } else { manner.to_string() };
        let kernel = format!("{call} {} ({mark})", library.version());
        let (point, last) = (*point, None);
        Ok(CollectiveWorkload {
            home,
            throttle,
            point,
            shape,
            element,
            manner,
            content,
            operands,
            kernel,
            last,
        })
    }

    fn ranks(&self) -> Result<&Ranks, Failure> {
        self.home.ranks(self.point.ranks)
    }

    fn what(&self) -> String {
        let CollectivePoint { collective, bytes, ranks, .. } = &self.point;
        format!("{collective} of {bytes} bytes over {ranks} ranks")
    }

    /// Enqueues one execution on every rank.
    fn enqueue(&self) -> Result<(), Failure> {
        let mut operands = self.operands.iter();
        self.ranks()?.enqueue(|local| match operands.next() {
            Some(operand) => self.call(local, operand),
            None => Err(Failure::Device("a rank has no operands".to_owned())),
        })
    }

    fn call(&self, local: &Local, operand: &Operand) -> Result<(), Failure> {
        let buffers = Buffers {
            send: operand.send(),
            receive: operand.receive(),
            count: self.shape.count,
            element: self.element,
            stream: nccl::Stream(local.stream.raw().cast()),
        };
        let communicator = &local.communicator;
        // SAFETY: the buffers are as large as the shape says the collective needs, lie in the
        // memory of the rank's GPU, and live until the streams were waited for or, where that
        // never ends, for good; the stream is the rank's.
        let called = unsafe {
            match self.point.collective {
                Collective::AllReduce => communicator.all_reduce(&buffers, Reduction::Sum),
                Collective::ReduceScatter => communicator.reduce_scatter(&buffers, Reduction::Sum),
                Collective::Reduce => communicator.reduce(&buffers, Reduction::Sum, ROOT),
                Collective::Broadcast => communicator.broadcast(&buffers, ROOT),
                Collective::AllGather => communicator.all_gather(&buffers),
                Collective::AllToAll => communicator.all_to_all(&buffers),
                Collective::Gather => communicator.gather(&buffers, ROOT),
                Collective::Scatter => communicator.scatter(&buffers, ROOT),
                Collective::SendRecv => communicator.send_receive(&buffers),
                Collective::AllToAllV => {
                    let (send, receive) = self.shape.parts(u64::from(local.rank));
                    communicator.all_to_all_v(&buffers, Parts { send: &send, receive: &receive })
                }
            }
        };
        Ok(called?)
    }

    fn verified(&self) -> Result<(), Failure> {
        let mut pairs = self.operands.iter().zip(&self.ranks()?.locals);
        pairs.try_for_each(|(operand, local)| operand.renew(&self.content, &local.stream))?;
        self.enqueue()?;
        self.finish(1)?;
        self.operands.iter().try_for_each(|operand| operand.compare(&self.shape, &self.content))
    }

    /// Waits for `executions` that are enqueued.
    fn finish(&self, executions: u32) -> Result<(), Failure> {
        let ranks = self.ranks()?;
        ranks.record(|local| &local.end)?;
        let limit = self.home.patience().limit(self.last, self.point.bytes, executions);
        ranks.wait(&self.what(), limit)
    }

    /// The shortest time of the ranks between their events.
    fn elapsed(&self) -> Result<Nanos, Failure> {
        let time = |local: &Local| {
            local.context.make_current()?;
            local.begin.until(&local.end)
        };
        let mut shortest: Option<Nanos> = None;
        for local in &self.ranks()?.locals {
            let time = time(local)?;
            shortest = Some(shortest.map_or(time, |known| known.min(time)));
        }
        shortest.ok_or_else(|| Failure::Device("no rank is here".to_owned()))
    }

    fn in_flight(&mut self, executions: u32) -> Result<Nanos, Failure> {
        self.ranks()?.record(|local| &local.begin)?;
        for _ in 0..executions {
            self.enqueue()?;
        }
        self.throttle.look();
        self.finish(executions)?;
        self.elapsed()
    }

    fn isolated(&mut self, executions: u32) -> Result<Nanos, Failure> {
        let mut elapsed = Ok(Nanos::default());
        for _ in 0..executions {
            self.ranks()?.align()?;
            match self.in_flight(1) {
                Ok(one) => elapsed = elapsed.map(|all| all + one),
                // Ranks of other processes do not know of it and go on: so does this one.
                Err(Failure::BelowTimerResolution) => elapsed = Err(Failure::BelowTimerResolution),
                Err(failure) => return Err(failure),
            }
        }
        elapsed
    }

    /// Keeps a failure of the ranks from the points to come: the communicator is given up.
    fn settled<T>(&mut self, outcome: Result<T, Failure>) -> Result<T, Failure> {
        let broken = match &outcome {
            Ok(_) => None,
            Err(Failure::WrongResult(_) | Failure::BelowTimerResolution) => None,
            Err(failure) => Some(failure.clone()),
        };
        match broken {
            None => self.home.went_well(),
            Some(failure) => {
                if self.home.give_up(self.point.ranks, &failure) {
                    // Freeing them would wait for what never ends.
                    self.operands.drain(..).for_each(std::mem::forget);
                }
            }
        }
        outcome
    }
}

impl Workload for CollectiveWorkload<'_> {
    fn kernel(&self) -> &str {
        &self.kernel
    }

    fn verify(&mut self) -> Result<(), Failure> {
        let verified = self.verified();
        self.settled(verified)
    }

    fn time(&mut self, executions: u32) -> Result<Timing, Failure> {
        let executions = executions.max(1);
        self.throttle.begin();
        let timed = match self.manner {
            Manner::Isolated => self.isolated(executions),
            _ => self.in_flight(executions),
        };
        let elapsed = self.settled(timed)?;
        self.last = Some(Nanos::new(elapsed.get() / u64::from(executions)));
        let throttled = self.throttle.lowered();
        Ok(Timing { throttled, ..Timing::of(elapsed, executions) })
    }
}
