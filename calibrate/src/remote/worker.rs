//! The process that has the GPUs: `calibrate worker`, which no help mentions.
//!
//! It speaks through a copy of its standard output; whatever libraries print there goes to
//! standard error, where it disturbs nothing. Signals that ask to stop are for its parent, which
//! ends it by closing its input; where the parent is killed, the system ends it, even within a
//! call of the driver that never returns.

use std::fs::File;
use std::io::{self, IsTerminal as _, Write};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use kernelgauge_cuda::DeviceError;
use kernelgauge_cuda::nvidia::CudaDevice;
use kernelgauge_data::ExitStatus;
use rustix::process::{Signal, set_parent_process_death_signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::lines::Lines;
use super::server::{Asked, serve};
use super::wire::{Answer, Facts, Gpus, Hello, PROTOCOL, Request, Wanted, line};

/// The argument that starts it.
pub const NAME: &str = "worker";

/// Answers on standard input and output with GPUs of this machine; `tool` is the version.
pub fn run(tool: &str, stderr: &mut dyn Write) -> ExitStatus {
    if io::stdin().is_terminal() {
        let _ = writeln!(stderr, "error: `calibrate {NAME}` is started by `calibrate` itself");
        return ExitStatus::Input;
    }
    match answer_all(tool) {
        Ok(()) => ExitStatus::Success,
        Err(error) => {
            let _ = writeln!(stderr, "error: {error}");
            ExitStatus::Environment
        }
    }
}

fn answer_all(tool: &str) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    let requests = File::from(rustix::io::dup(io::stdin())?);
    let mut answers = File::from(rustix::io::dup(io::stdout())?);
    rustix::stdio::dup2_stdout(io::stderr())?;
    let hello = Hello { protocol: PROTOCOL, tool: tool.to_owned() };
    answers.write_all(line(&hello).map_err(io::Error::other)?.as_bytes())?;
    let mut asked = Asked { requests: Lines::new(requests), answers: Box::new(answers) };
    let Some(Request::Open(wanted)) = asked.request()? else { return Ok(()) };
    match opened(wanted) {
        Ok(mut device) => {
            asked.answer(&Answer::Opened(Box::new(Facts::of(&device))))?;
            serve(&mut asked, &mut device).map(|_| ())
        }
        Err(error) => asked.answer(&Answer::NotOpened(error)),
    }
}

fn opened(wanted: Wanted) -> Result<CudaDevice, DeviceError> {
    let mut device = found(wanted.gpus)?;
    device.tune_gemm(wanted.gemm_tune);
    if wanted.is_one_of_several {
        device.expect_others();
    }
    Ok(device)
}

fn found(gpus: Gpus) -> Result<CudaDevice, DeviceError> {
    match gpus {
        Gpus::All => CudaDevice::open(None),
        Gpus::These(numbers) => CudaDevice::open(Some(&numbers)),
        Gpus::Nth(nth, Some(numbers)) => match numbers.get(nth % numbers.len().max(1)) {
            Some(number) => CudaDevice::open(Some(&[*number])),
            None => CudaDevice::open(Some(&[])),
        },
        Gpus::Nth(nth, None) => {
            let count = CudaDevice::count()?;
            let nth = u32::try_from(nth).unwrap_or_default();
            CudaDevice::open(Some(&[nth % count.max(1)]))
        }
    }
}
