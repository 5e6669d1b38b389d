//! A process of the same program on this machine, spoken to through its standard streams.
//!
//! It is in a process group of its own, so that Ctrl-C at a terminal reaches only the one that
//! holds the plan, which finishes its sample first. It ends when its input is closed, which the
//! system does however the parent ends.

use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use kernelgauge_cuda::DeviceError;
use kernelgauge_cuda::nvidia::symbols;

use super::last_words::LastWords;
use super::lines::Lines;
use super::link::{Link, NoLine, Starter};
use super::{ending, worker};

/// The program that runs, even where its file was replaced meanwhile (proc(5)).
const PROGRAM: &str = "/proc/self/exe";
/// Time between two looks whether a process has ended.
const LOOK: Duration = Duration::from_millis(2);
/// A process that was killed may be held by its driver; it is left behind after this.
const REAPED: Duration = Duration::from_secs(10);
/// Time to give memory back and end, at the end of a run.
const FAREWELL: Duration = Duration::from_secs(5);

/// Starts processes of this program that measure.
#[derive(Debug, Default)]
pub struct ProcessStarter {
    /// The least deadline, where the user stated one: for collectives the process has its own.
    pub least: Option<Duration>,
}

/// The variable that states it in seconds, where the user has not set it.
const COLLECTIVE_LIMIT: &str = "KERNELGAUGE_COLLECTIVE_TIMEOUT";

impl Starter for ProcessStarter {
    fn start(&self) -> Result<Box<dyn Link>, DeviceError> {
        let own = PathBuf::from(PROGRAM);
        let program = if own.exists() { Ok(own) } else { std::env::current_exe() };
        let child = program.and_then(|program| {
            let mut command = Command::new(program);
            if let Some(least) = self.least
                && std::env::var_os(COLLECTIVE_LIMIT).is_none()
            {
                command.env(COLLECTIVE_LIMIT, least.as_secs_f64().to_string());
            }
            command
                .arg0("calibrate")
                .arg(worker::NAME)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .process_group(0)
                .spawn()
        });
        let mut child = child.map_err(|error| not_started(&error))?;
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdout), Some(stderr)) = (stdout, stderr) else {
            return Err(not_started(&io::Error::other("it has no output")));
        };
        let (lines, last_words) = (Lines::new(stdout), LastWords::of(stderr));
        Ok(Box::new(ProcessLink { child, stdin, lines, last_words }))
    }

    fn name(&self) -> String {
        "the process that measures".to_owned()
    }
}

fn not_started(error: &io::Error) -> DeviceError {
    DeviceError::Missing {
        what: format!("cannot start the process that measures: {error}"),
        hint: symbols::elsewhere("see `ulimit -u`, "),
    }
}

/// One such process.
#[derive(Debug)]
struct ProcessLink {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Lines<ChildStdout>,
    last_words: LastWords,
}

impl ProcessLink {
    /// Waits for the process to end; how it did, if it did in time.
    fn ended_within(&mut self, limit: Duration) -> Option<String> {
        let until = Instant::now() + limit;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(ending::words(status)),
                Ok(None) if Instant::now() < until => std::thread::sleep(LOOK),
                _ => return None,
            }
        }
    }
}

impl Link for ProcessLink {
    fn send(&mut self, line: &str) -> io::Result<()> {
        match &mut self.stdin {
            Some(stdin) => stdin.write_all(line.as_bytes()),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn receive(&mut self, until: Instant) -> Result<String, NoLine> {
        self.lines.next(Some(until))
    }

    fn end(&mut self, patience: Duration) -> String {
        self.stdin = None;
        if let Some(how) = self.ended_within(patience) {
            return match self.last_words.line() {
                Some(line) => format!("{how}; it said: {line}"),
                None => how,
            };
        }
        // Fails for a process that has just ended, which is reaped all the same.
        let _ = self.child.kill();
        match self.ended_within(REAPED) {
            Some(_) => "it was killed".to_owned(),
            None => "it was killed, but the driver does not let go of it".to_owned(),
        }
    }
}

impl Drop for ProcessLink {
    fn drop(&mut self) {
        self.end(FAREWELL);
    }
}
