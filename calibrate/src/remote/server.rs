//! Answers requests with a device: the other end of [`super::RemoteDevice`].
//!
//! One point is prepared at a time. After a device failure its operands are given up before the
//! answer is sent, and the answer says what the device is still good for.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;

use kernelgauge_cuda::{Condition, Device, Workload};
use kernelgauge_data::{CacheState, Failure, Manner};

use super::lines::Lines;
use super::link::NoLine;
use super::wire::{Answer, Request, WirePoint, line};
use crate::sweep::is_of_device;

/// The two directions of a conversation, as the answering side has them.
pub struct Asked<R> {
    /// Requests.
    pub requests: Lines<R>,
    /// Answers.
    pub answers: Box<dyn Write>,
}

impl<R: Read + AsFd> Asked<R> {
    /// The next request; none when the other side has ended.
    ///
    /// # Errors
    /// A line that is no request.
    pub fn request(&mut self) -> io::Result<Option<Request>> {
        match self.requests.next(None) {
            Ok(text) => serde_json::from_str(&text).map(Some).map_err(io::Error::other),
            Err(NoLine::Noise(_)) => Err(io::ErrorKind::InvalidData.into()),
            Err(NoLine::Ended | NoLine::Late) => Ok(None),
        }
    }

    /// Sends an answer.
    ///
    /// # Errors
    /// What the system says.
    pub fn answer(&mut self, answer: &Answer) -> io::Result<()> {
        let text = line(answer).map_err(io::Error::other)?;
        self.answers.write_all(text.as_bytes())?;
        self.answers.flush()
    }
}

/// How a conversation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parted {
    /// The other side said that it was over.
    InOrder,
    /// The other side has ended, or cannot be reached.
    Without,
}

/// Answers until the other side has ended.
///
/// # Errors
/// A line that is no request, or what the system says.
pub fn serve<R: Read + AsFd>(asked: &mut Asked<R>, device: &mut dyn Device) -> io::Result<Parted> {
    while let Some(request) = asked.request()? {
        let answer = match request {
            Request::Farewell => return Ok(Parted::InOrder),
            Request::Prepare(point, cache, manner, seed) => {
                match prepared(asked, device, &point, (cache, manner), seed)? {
                    // Its operands are given up by now.
                    Some(failure) => Answer::Failed(failure, condition(device)),
                    None => Answer::Released,
                }
            }
            request => unprepared(device, &request),
        };
        asked.answer(&answer)?;
    }
    Ok(Parted::Without)
}

/// Prepares a point and answers what is asked about it, until it is released (or the other side
/// has ended), or the device fails.
fn prepared<R: Read + AsFd>(
    asked: &mut Asked<R>,
    device: &mut dyn Device,
    point: &WirePoint,
    (cache, manner): (CacheState, Manner),
    seed: u64,
) -> io::Result<Option<Failure>> {
    let workload = point.point().and_then(|point| device.prepare_in(&point, cache, manner, seed));
    let mut workload = match workload {
        Ok(workload) => workload,
        Err(failure) => return Ok(Some(failure)),
    };
    asked.answer(&Answer::Prepared(workload.kernel().to_owned(), workload.has_result()))?;
    while let Some(request) = asked.request()? {
        match about_prepared(workload.as_mut(), &request) {
            Ok(Answer::Released) => break,
            Ok(answer) => asked.answer(&answer)?,
            Err(failure) => return Ok(Some(failure)),
        }
    }
    Ok(None)
}

/// The answer about a prepared point; an error where the device failed.
fn about_prepared(workload: &mut dyn Workload, request: &Request) -> Result<Answer, Failure> {
    let answer = match request {
        Request::Verify => workload.verify().map(|()| Answer::Verified),
        Request::Time(executions) => workload.time(*executions).map(Answer::Timed),
        Request::Release => Ok(Answer::Released),
        other => Err(Failure::Stated(format!("`{}` while a point is prepared", other.name()))),
    };
    match answer {
        Err(failure) if is_of_device(&failure) => Err(failure),
        Err(failure) => Ok(Answer::Failed(failure, Condition::Sound)),
        Ok(answer) => Ok(answer),
    }
}

/// What `device` is good for after a failure.
fn condition(device: &mut dyn Device) -> Condition {
    match device.condition() {
        Condition::Sound if device.spoilt().is_some() => Condition::Broken,
        condition => condition,
    }
}

/// The answer to what needs no prepared point.
fn unprepared(device: &mut dyn Device, request: &Request) -> Answer {
    let answer = match request {
        Request::FreeMemory => Ok(Answer::Memory(device.free_memory())),
        Request::Supports(point, cache, manner) => point
            .point()
            .map(|point| Answer::Supports(device.supports_in(&point, *cache, *manner).err())),
        Request::MemoryNeeded(point, cache) => {
            point.point().map(|point| Answer::Memory(device.memory_needed(&point, *cache)))
        }
        Request::Attachments => Ok(Answer::Attachments(device.attachments())),
        Request::UniqueId => device.unique_id().map(Answer::UniqueId),
        Request::Join(world) => device.join(world).map(|()| Answer::Joined),
        // A failure has given the operands up already.
        Request::Release => Ok(Answer::Released),
        other => Err(Failure::Stated(format!("`{}` while no point is prepared", other.name()))),
    };
    match answer {
        Ok(answer) => answer,
        Err(failure @ Failure::Stated(_)) => Answer::Failed(failure, Condition::Sound),
        Err(failure) => Answer::Failed(failure, condition(device)),
    }
}
