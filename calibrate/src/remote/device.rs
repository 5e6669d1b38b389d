//! GPUs that another process has, as a [`Device`].

use std::cell::RefCell;
use std::time::Duration;

use kernelgauge_cuda::{Condition, Device, DeviceError, Timer, Timing, Workload, World};
use kernelgauge_data::{
    Bytes, CacheState, Environment, Failure, Machine, Manner, Nanos, Origin, Point, SkipReason,
};

use super::conversation::Conversation;
use super::deadlines::Deadlines;
use super::link::Starter;
use super::wire::{Answer, Facts, Request, Wanted};

/// The GPUs of another process. What is asked through `&self` starts a process too where there
/// is none, so the conversation is in a cell.
pub struct RemoteDevice {
    facts: Facts,
    conversation: RefCell<Conversation>,
}

impl RemoteDevice {
    /// Opens what is `wanted` in a process from `starter`; `tool` is the version of this program.
    ///
    /// # Errors
    /// What the process says, or why it says nothing.
    pub fn open(
        starter: Box<dyn Starter>,
        wanted: Wanted,
        tool: String,
        deadlines: Deadlines,
    ) -> Result<Self, DeviceError> {
        let mut conversation = Conversation::new(starter, wanted, tool, deadlines);
        let facts = conversation.open()?;
        Ok(RemoteDevice { facts, conversation: RefCell::new(conversation) })
    }

    /// What is said to its process.
    pub fn into_conversation(self) -> Conversation {
        self.conversation.into_inner()
    }

    /// Asks what needs no operands.
    fn ask(&self, request: &Request) -> Result<Answer, Failure> {
        let mut conversation = self.conversation.borrow_mut();
        let within = conversation.deadlines.prepare(Bytes::default());
        conversation.ask(request, within)
    }

    /// A size, where one is answered.
    fn memory(&self, request: &Request) -> Option<Bytes> {
        match self.ask(request) {
            Ok(Answer::Memory(bytes)) => Some(bytes),
            _ => None,
        }
    }
}

impl Device for RemoteDevice {
    fn machine(&self) -> Machine {
        self.facts.machine.clone()
    }

    fn origin(&self) -> Origin {
        self.facts.origin
    }

    fn environment(&self) -> Environment {
        self.facts.environment.clone()
    }

    fn lock_keys(&self) -> Vec<String> {
        self.facts.lock_keys.clone()
    }

    fn free_memory(&self) -> Bytes {
        self.memory(&Request::FreeMemory).unwrap_or_default()
    }

    fn timer(&self) -> Timer {
        self.facts.timer
    }

    /// Where that cannot be asked, nothing: why not comes to light when the point is prepared.
    fn memory_needed(&self, point: &Point, cache: CacheState) -> Bytes {
        self.memory(&Request::MemoryNeeded(point.into(), cache)).unwrap_or_default()
    }

    fn supports_in(
        &self,
        point: &Point,
        cache: CacheState,
        manner: Manner,
    ) -> Result<(), SkipReason> {
        match self.ask(&Request::Supports(point.into(), cache, manner)) {
            Ok(Answer::Supports(Some(reason))) => Err(reason),
            _ => Ok(()),
        }
    }

    fn prepare_in<'device>(
        &'device mut self,
        point: &Point,
        cache: CacheState,
        manner: Manner,
        seed: u64,
    ) -> Result<Box<dyn Workload + 'device>, Failure> {
        self.conversation.get_mut().prepare(point, cache, manner, seed)
    }

    fn condition(&mut self) -> Condition {
        self.conversation.get_mut().condition()
    }

    fn attachments(&self) -> Vec<(String, String)> {
        match self.ask(&Request::Attachments) {
            Ok(Answer::Attachments(files)) => files,
            _ => Vec::new(),
        }
    }

    fn unique_id(&mut self) -> Result<Vec<u8>, Failure> {
        match self.ask(&Request::UniqueId)? {
            Answer::UniqueId(id) => Ok(id),
            answer => Err(self.conversation.get_mut().unexpected(&Request::UniqueId, &answer)),
        }
    }

    fn join(&mut self, world: &World) -> Result<(), Failure> {
        let request = Request::Join(world.clone());
        let conversation = self.conversation.get_mut();
        let within = conversation.deadlines.join();
        match conversation.ask(&request, within)? {
            Answer::Joined => Ok(()),
            answer => Err(conversation.unexpected(&request, &answer)),
        }
    }
}

impl Conversation {
    /// Puts the operands of a point in place in the other process.
    ///
    /// # Errors
    /// What the device says, or why there is no answer.
    pub fn prepare(
        &mut self,
        point: &Point,
        cache: CacheState,
        manner: Manner,
        seed: u64,
    ) -> Result<Box<dyn Workload + '_>, Failure> {
        self.stuck.refuse(point)?;
        let longer = self.deadlines.for_ranks(point);
        let size = Request::MemoryNeeded(point.into(), cache);
        let operands = match self.ask(&size, self.deadlines.prepare(Bytes::default()))? {
            Answer::Memory(bytes) => bytes,
            answer => return Err(self.unexpected(&size, &answer)),
        };
        let request = Request::Prepare(point.into(), cache, manner, seed);
        let answer = self.ask(&request, self.deadlines.prepare(operands) + longer);
        if answer.is_err() {
            self.stuck.note(&answer);
        }
        match answer? {
            Answer::Prepared(kernel, has_result) => Ok(Box::new(RemoteWorkload {
                kernel,
                has_result,
                operands,
                longer,
                each: None,
                conversation: self,
            })),
            answer => Err(self.unexpected(&request, &answer)),
        }
    }
}

/// A point whose operands are in place in the other process.
struct RemoteWorkload<'device> {
    kernel: String,
    has_result: bool,
    operands: Bytes,
    longer: Duration,
    /// The time of one execution, as last measured.
    each: Option<Nanos>,
    conversation: &'device mut Conversation,
}

impl RemoteWorkload<'_> {
    fn within(&self) -> Duration {
        self.conversation.deadlines.prepare(self.operands) + self.longer
    }

    fn ask(&mut self, request: &Request, within: Duration) -> Result<Answer, Failure> {
        let answer = self.conversation.ask_prepared(request, within);
        self.conversation.stuck.note(&answer);
        answer
    }
}

impl Workload for RemoteWorkload<'_> {
    fn kernel(&self) -> &str {
        &self.kernel
    }

    fn has_result(&self) -> bool {
        self.has_result
    }

    fn verify(&mut self) -> Result<(), Failure> {
        let within = self.within();
        match self.ask(&Request::Verify, within)? {
            Answer::Verified => Ok(()),
            answer => Err(self.conversation.unexpected(&Request::Verify, &answer)),
        }
    }

    fn time(&mut self, executions: u32) -> Result<Timing, Failure> {
        let request = Request::Time(executions);
        let within = self.conversation.deadlines.time(executions, self.each, self.operands);
        match self.ask(&request, within + self.longer)? {
            Answer::Timed(timing) => {
                let each = timing.elapsed.get() / u64::from(timing.executions.max(1));
                self.each = Some(Nanos::new(each));
                Ok(timing)
            }
            answer => Err(self.conversation.unexpected(&request, &answer)),
        }
    }
}

impl Drop for RemoteWorkload<'_> {
    fn drop(&mut self) {
        let within = self.within();
        // A process that is gone has released everything.
        let _ = self.conversation.ask_prepared(&Request::Release, within);
    }
}
