//! A thread in the place of a process, for tests: it answers over a socket with any device.

use std::io::{self, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use kernelgauge_cuda::{Device, DeviceError};

use super::lines::Lines;
use super::server::{Asked, serve};
use super::wire::{Answer, Facts, Hello, PROTOCOL, Request, line};
use super::{Link, NoLine, Starter};

/// The version that such threads say to be of.
pub const TOOL: &str = "0.1.0 (git test)";

struct Socket(UnixStream, Lines<UnixStream>);

impl Link for Socket {
    fn send(&mut self, line: &str) -> io::Result<()> {
        self.0.write_all(line.as_bytes())
    }

    fn receive(&mut self, until: Instant) -> Result<String, NoLine> {
        self.1.next(Some(until))
    }

    fn end(&mut self, _patience: Duration) -> String {
        let _ = self.0.shutdown(Shutdown::Both);
        "it ended".to_owned()
    }
}

/// Starts threads with devices that it makes.
pub struct Threads<F>(pub F);

impl<D: Device + 'static, F: Fn() -> D + Send> Starter for Threads<F> {
    fn start(&self) -> Result<Box<dyn Link>, DeviceError> {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let mut device = self.0();
        let facts = Facts::of(&device);
        let served = move || {
            let requests = Lines::new(theirs.try_clone().unwrap());
            let mut asked = Asked { requests, answers: Box::new(theirs) };
            let hello = Hello { protocol: PROTOCOL, tool: TOOL.to_owned() };
            asked.answers.write_all(line(&hello).unwrap().as_bytes()).unwrap();
            let Some(Request::Open(_)) = asked.request().unwrap() else { return };
            asked.answer(&Answer::Opened(Box::new(facts))).unwrap();
            let _ = serve(&mut asked, &mut device);
        };
        std::thread::spawn(served);
        Ok(Box::new(Socket(ours.try_clone().unwrap(), Lines::new(ours))))
    }

    fn name(&self) -> String {
        "the process".to_owned()
    }
}
