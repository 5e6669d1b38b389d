//! A process reached over TCP.
//!
//! A node that loses power says nothing: the system asks the other end of an idle connection
//! again and again, and closes it after about a minute without an answer.

use std::io::{self, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use kernelgauge_cuda::DeviceError;
use rustix::net::sockopt;

use crate::remote::{Lines, Link, NoLine, Starter};

/// Idle time before the other end is asked, time between two times, and how often.
const IDLE: Duration = Duration::from_secs(20);
const INTERVAL: Duration = Duration::from_secs(10);
const TIMES: u32 = 4;

/// A connection.
#[derive(Debug)]
pub struct TcpLink {
    stream: TcpStream,
    lines: Lines<TcpStream>,
}

impl TcpLink {
    /// Over `stream`; requests and answers are short and wait for each other, so none is held
    /// back to be sent with the next.
    ///
    /// # Errors
    /// What the system says.
    pub fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        sockopt::set_socket_keepalive(&stream, true)?;
        sockopt::set_tcp_keepidle(&stream, IDLE)?;
        sockopt::set_tcp_keepintvl(&stream, INTERVAL)?;
        sockopt::set_tcp_keepcnt(&stream, TIMES)?;
        let lines = Lines::new(stream.try_clone()?);
        Ok(TcpLink { stream, lines })
    }

    /// Its two directions.
    pub fn into_parts(self) -> (Lines<TcpStream>, TcpStream) {
        (self.lines, self.stream)
    }
}

impl Link for TcpLink {
    fn send(&mut self, line: &str) -> io::Result<()> {
        self.stream.write_all(line.as_bytes())
    }

    fn receive(&mut self, until: Instant) -> Result<String, NoLine> {
        self.lines.next(Some(until))
    }

    /// No one speaks unasked, so what can be read before a question is the end.
    fn is_open(&self) -> bool {
        !self.lines.is_ready()
    }

    fn end(&mut self, _patience: Duration) -> String {
        let _ = self.stream.shutdown(Shutdown::Both);
        "the connection has ended".to_owned()
    }
}

/// A rank that has come: its connection can be had once.
pub struct Come {
    /// Its number.
    pub rank: u32,
    /// Its connection.
    pub link: Mutex<Option<TcpLink>>,
}

impl Starter for Come {
    fn start(&self) -> Result<Box<dyn Link>, DeviceError> {
        let link = self.link.lock().unwrap_or_else(PoisonError::into_inner).take();
        match link {
            Some(link) => Ok(Box::new(link)),
            None => Err(DeviceError::Missing {
                what: format!("rank {} is gone", self.rank),
                hint: "see what it says".to_owned(),
            }),
        }
    }

    fn name(&self) -> String {
        format!("rank {}", self.rank)
    }
}
