//! The ranks of this process: on each GPU a stream, two events, and one end of a communicator.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::sys::CUdevice;
use kernelgauge_data::{Dtype, Failure};

use crate::nccl::{
    self, Buffers, Communicator, DevicePointer, Element, Group, Library, Limits, Reduction,
    UniqueId, join_all,
};
use crate::nvidia::context::Context;
use crate::nvidia::memory::DeviceBuffer;
use crate::nvidia::stream::{Event, Stream};
use crate::world::World;

/// All-reduces of one element that line the ranks up: enough to keep the GPUs busy while the host
/// launches what is timed.
const ALIGNING: usize = 4;

/// One rank.
#[derive(Debug)]
pub struct Local {
    /// Its number among all ranks.
    pub rank: u32,
    /// Its GPU.
    pub context: Arc<Context>,
    /// Where its collectives run.
    pub stream: Stream,
    /// Before the first execution.
    pub begin: Event,
    /// After the last.
    pub end: Event,
    /// Its end of the communicator.
    pub communicator: Communicator,
    element: DeviceBuffer,
}

/// All ranks of this process.
#[derive(Debug)]
pub struct Ranks {
    library: Library,
    /// Ranks of all processes.
    pub count: u32,
    /// Those of this one.
    pub locals: Vec<Local>,
}

impl Ranks {
    /// Forms a communicator of `devices` alone.
    ///
    /// # Errors
    /// What NCCL or the driver says, or that the deadline passed.
    pub fn form(library: Library, devices: &[CUdevice], limits: Limits) -> Result<Self, Failure> {
        let count = devices.len() as u32;
        let id = library.unique_id()?;
        Self::with_id(library, devices, &id, (0, count), limits)
    }

    /// Joins the communicator of `world` with the first of `devices`.
    ///
    /// # Errors
    /// What NCCL or the driver says, or that ranks are missing at the deadline.
    pub fn join(
        library: Library,
        devices: &[CUdevice],
        world: &World,
        limits: Limits,
    ) -> Result<Self, Failure> {
        let bytes = world.id.as_slice().try_into().map_err(|_| {
            let length = world.id.len();
            Failure::Device(format!("a unique id of {length} bytes is none of NCCL's"))
        })?;
        let local = world.local_ranks as usize;
        let devices = devices
            .get(..local)
            .filter(|_| local > 0)
            .ok_or_else(|| Failure::Device(format!("{local} ranks on {} GPUs", devices.len())))?;
        let id = UniqueId::from_bytes(bytes);
        Self::with_id(library, devices, &id, (world.first_rank, world.ranks), limits)
    }

    fn with_id(
        library: Library,
        devices: &[CUdevice],
        id: &UniqueId,
        (first, count): (u32, u32),
        limits: Limits,
    ) -> Result<Self, Failure> {
        let contexts: Vec<Arc<Context>> =
            devices.iter().map(|device| Context::retain(*device)).collect::<Result<_, _>>()?;
        // First what may fail and is easily undone.
        let equip = |context: &Arc<Context>| {
            let event = || Event::new(context);
            let element = DeviceBuffer::new(context, 8)?;
            Ok::<_, Failure>((Stream::new(context)?, event()?, event()?, element))
        };
        let equipment: Vec<_> = contexts.iter().map(equip).collect::<Result<_, _>>()?;
        let places = first..first + contexts.len() as u32;
        let communicators = join_all(library, id, places, count, limits, |rank| {
            contexts[(rank - first) as usize].make_current()
        })?;
        let parts = communicators.into_iter().zip(contexts).zip(equipment);
        let local = |((communicator, context), (stream, begin, end, element))| Local {
            rank: Communicator::place(&communicator).rank,
            context,
            stream,
            begin,
            end,
            communicator,
            element,
        };
        Ok(Ranks { library, count, locals: parts.map(local).collect() })
    }

    /// Enqueues one collective, `call` for each rank, and returns once it is launched.
    ///
    /// # Errors
    /// What NCCL says, or that launching took longer than its limit.
    pub fn enqueue(
        &self,
        mut call: impl FnMut(&Local) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let group = Group::start(self.library)?;
        for local in &self.locals {
            local.context.make_current()?;
            call(local)?;
        }
        let communicators: Vec<&Communicator> =
            self.locals.iter().map(|local| &local.communicator).collect();
        Ok(group.end(&communicators)?)
    }

    /// Lines the ranks up: what is enqueued next begins on all of them when the last is there.
    ///
    /// # Errors
    /// As [`Ranks::enqueue`].
    pub fn align(&self) -> Result<(), Failure> {
        let element = Element::of(Dtype::F32, self.library.version())?;
        for _ in 0..ALIGNING {
            self.enqueue(|local| {
                let place = DevicePointer(local.element.pointer());
                let buffers = Buffers {
                    send: place,
                    receive: place,
                    count: 1,
                    element,
                    stream: nccl::Stream(local.stream.raw().cast()),
                };
                // SAFETY: the buffer holds an element and lives as long as the rank; the stream is
                // the rank's.
                Ok(unsafe { local.communicator.all_reduce(&buffers, Reduction::Sum) }?)
            })?;
        }
        Ok(())
    }

    /// Marks one of the two moments on every rank.
    ///
    /// # Errors
    /// What the driver says.
    pub fn record(&self, event: impl Fn(&Local) -> &Event) -> Result<(), Failure> {
        self.locals.iter().try_for_each(|local| {
            local.context.make_current()?;
            event(local).record(&local.stream)
        })
    }

    /// Waits until every rank's end has come.
    ///
    /// # Errors
    /// What NCCL or the driver says meanwhile; [`Failure::TimedOut`] after `limit`.
    pub fn wait(&self, what: &str, limit: Duration) -> Result<(), Failure> {
        let began = Instant::now();
        self.locals.iter().try_for_each(|local| {
            let left = limit.saturating_sub(began.elapsed());
            let ended = || local.end.has_happened();
            local.communicator.wait(what, left, ended).map_err(|failure| match failure {
                Failure::TimedOut(_) => Failure::TimedOut(format!(
                    "{what} did not end within {} s",
                    limit.as_secs_f64()
                )),
                other => other,
            })
        })
    }

    /// The communicators, for ending them, and what is to be freed after them: not at all where
    /// that would wait for what never ends.
    pub fn split(self) -> (Vec<Communicator>, Vec<Remains>) {
        let split = |local: Local| {
            let Local { communicator, stream, begin, end, element, .. } = local;
            (communicator, Remains { _parts: (stream, begin, end, element) })
        };
        self.locals.into_iter().map(split).unzip()
    }
}

/// What a rank has on its GPU beside the communicator.
#[derive(Debug)]
pub struct Remains {
    _parts: (Stream, Event, Event, DeviceBuffer),
}
