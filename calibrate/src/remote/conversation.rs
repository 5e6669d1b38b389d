//! Requests and answers with one process after another: started when there is something to ask,
//! replaced when it does not answer, ends, or says that nothing works in it any more.

use std::time::{Duration, Instant};

use kernelgauge_cuda::nvidia::symbols;
use kernelgauge_cuda::{Condition, DeviceError};
use kernelgauge_data::{Failure, table};

use super::deadlines::Deadlines;
use super::link::{Link, NoLine, Starter};
use super::stuck::Stuck;
use super::wire::{Answer, Facts, Hello, PROTOCOL, Request, Wanted, line};

/// A process whose output has ended is about to end.
const SOON: Duration = Duration::from_secs(2);

/// What is said to the process that has the GPUs.
pub struct Conversation {
    starter: Box<dyn Starter>,
    wanted: Wanted,
    tool: String,
    /// How long answers may take.
    pub deadlines: Deadlines,
    link: Option<Box<dyn Link>>,
    facts: Option<Facts>,
    lost: Option<String>,
    /// Processes that were opened so far: what one has joined, the next has not.
    pub opened: u32,
    /// Collectives that did not end.
    pub stuck: Stuck,
}

impl Conversation {
    /// With processes from `starter` that open what is `wanted`, of the version `tool`.
    pub fn new(
        starter: Box<dyn Starter>,
        wanted: Wanted,
        tool: String,
        deadlines: Deadlines,
    ) -> Self {
        Conversation {
            starter,
            wanted,
            tool,
            deadlines,
            link: None,
            facts: None,
            lost: None,
            opened: 0,
            stuck: Stuck::default(),
        }
    }

    /// Starts a process and lets it open the GPUs.
    ///
    /// # Errors
    /// What the process says, or why it says nothing.
    pub fn open(&mut self) -> Result<Facts, DeviceError> {
        let until = Instant::now() + self.deadlines.open();
        self.link = Some(self.starter.start()?);
        let greeting = self.receive("start", until).map_err(cannot_open)?;
        let hello: Option<Hello> = serde_json::from_str(&greeting).ok();
        match hello {
            Some(hello) if hello.protocol == PROTOCOL && hello.tool == self.tool => {}
            Some(hello) => {
                let what = format!("it is of version {}, not {}", hello.tool, self.tool);
                return Err(cannot_open(self.given_up(&what)));
            }
            None => return Err(cannot_open(self.noise("start", &greeting))),
        }
        let request = Request::Open(self.wanted.clone());
        match self.exchange(&request, until).map_err(cannot_open)? {
            Answer::Opened(facts) => {
                self.opened = self.opened.saturating_add(1);
                self.facts.get_or_insert_with(|| (*facts).clone());
                Ok(*facts)
            }
            Answer::NotOpened(error) => {
                self.link = None;
                Err(error)
            }
            answer => Err(cannot_open(self.unexpected(&request, &answer))),
        }
    }

    /// Asks; where no process is there to be asked, a new one.
    ///
    /// # Errors
    /// What the device says, or why there is no answer.
    pub fn ask(&mut self, request: &Request, within: Duration) -> Result<Answer, Failure> {
        self.ready()?;
        self.exchange(request, Instant::now() + within)
    }

    /// Makes sure that there is a process to be asked.
    ///
    /// # Errors
    /// Why there is none.
    pub fn ready(&mut self) -> Result<(), Failure> {
        if let Some(what) = &self.lost {
            return Err(Failure::AfterDeviceLost(what.clone()));
        }
        if self.link.as_mut().is_some_and(|link| !link.is_open()) {
            self.end(SOON);
        }
        if self.link.is_none() { self.reopen() } else { Ok(()) }
    }

    /// Asks about the point that is prepared, which a new process would know nothing of.
    ///
    /// # Errors
    /// As [`Conversation::ask`].
    pub fn ask_prepared(&mut self, request: &Request, within: Duration) -> Result<Answer, Failure> {
        if self.link.is_none() {
            return Err(Failure::Device(format!("{} was replaced", self.starter.name())));
        }
        self.exchange(request, Instant::now() + within)
    }

    /// Whether there is a process, as far as that is known without asking it.
    pub fn is_connected(&self) -> bool {
        self.link.as_ref().is_some_and(|link| link.is_open())
    }

    /// Whom it is with, for sentences.
    pub fn name(&self) -> String {
        self.starter.name()
    }

    /// Whether the device is gone for every process.
    pub fn condition(&self) -> Condition {
        self.lost.clone().map_or(Condition::Sound, Condition::Lost)
    }

    /// What to say of an answer that does not fit its question.
    pub fn unexpected(&mut self, request: &Request, answer: &Answer) -> Failure {
        self.noise(request.name(), &format!("{answer:?}"))
    }

    fn reopen(&mut self) -> Result<(), Failure> {
        let before = self.facts.clone();
        let now = self.open().map_err(|error| Failure::Device(error.to_string()))?;
        match before {
            Some(before) if !before.same_device(&now) => {
                let what = "a new process finds other GPUs, or other settings";
                self.lost = Some(what.to_owned());
                Err(self.given_up(what))
            }
            _ => Ok(()),
        }
    }

    fn exchange(&mut self, request: &Request, until: Instant) -> Result<Answer, Failure> {
        self.send(request);
        self.collect(request, until)
    }

    /// Sends a request whose answer is collected later. That the other side has ended is found
    /// when nothing comes from it.
    pub fn send(&mut self, request: &Request) {
        if let (Some(link), Ok(text)) = (&mut self.link, line(request)) {
            let _ = link.send(&text);
        }
    }

    /// The answer to a request that was sent.
    ///
    /// # Errors
    /// What the device says, or why there is no answer.
    pub fn collect(&mut self, request: &Request, until: Instant) -> Result<Answer, Failure> {
        let text = self.receive(request.name(), until)?;
        match serde_json::from_str(&text) {
            Ok(Answer::Failed(failure, condition)) => {
                self.heed(condition);
                Err(failure)
            }
            Ok(answer) => Ok(answer),
            Err(_) => Err(self.noise(request.name(), &text)),
        }
    }

    fn receive(&mut self, asked: &str, until: Instant) -> Result<String, Failure> {
        let name = self.starter.name();
        let began = Instant::now();
        let Some(link) = &mut self.link else {
            return Err(Failure::Device(format!("{name} is not there")));
        };
        match link.receive(until) {
            Ok(text) => Ok(text),
            Err(NoLine::Late) => {
                let waited = until.saturating_duration_since(began).as_secs_f64();
                let how = self.end(Duration::ZERO);
                let what = format!("{name} did not answer `{asked}` within {waited:.1} s; {how}");
                Err(Failure::TimedOut(what))
            }
            Err(NoLine::Ended) => {
                let how = self.end(SOON);
                Err(Failure::Device(format!("{name} is gone: {how}")))
            }
            Err(NoLine::Noise(text)) => Err(self.noise(asked, &text)),
        }
    }

    /// What the device is good for after a failure decides what becomes of the process.
    fn heed(&mut self, condition: Condition) {
        match condition {
            Condition::Sound => {}
            Condition::Broken => drop(self.end(Duration::ZERO)),
            Condition::Lost(what) => {
                self.end(Duration::ZERO);
                self.lost = Some(what);
            }
        }
    }

    fn noise(&mut self, asked: &str, text: &str) -> Failure {
        self.given_up(&format!("to `{asked}` it said `{}`", table::shorten(text)))
    }

    fn given_up(&mut self, what: &str) -> Failure {
        self.end(Duration::ZERO);
        Failure::Device(format!("{} was given up: {what}", self.starter.name()))
    }

    /// Ends the process that there is; how it ended.
    fn end(&mut self, patience: Duration) -> String {
        self.link.take().map_or_else(String::new, |mut link| link.end(patience))
    }
}

fn cannot_open(failure: Failure) -> DeviceError {
    DeviceError::Missing {
        what: format!("the GPUs cannot be opened: {failure}"),
        hint: symbols::elsewhere("see what `nvidia-smi` says, "),
    }
}
