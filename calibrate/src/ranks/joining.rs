//! Every rank but 0 connects to it and serves its GPUs until the run is over.

use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::{Duration, Instant};

use kernelgauge_cuda::Device;

use super::error::RanksError;
use super::gathering::{Challenge, Claim, HOST, Verdict};
use super::tcp::TcpLink;
use super::{Meeting, token};
use crate::lock::DeviceLock;
use crate::remote::server::{Asked, Parted, serve as answer_all};
use crate::remote::wire::{Answer, Facts, Hello, PROTOCOL, Request, line};
use crate::remote::{Link as _, NoLine};

/// Time between two tries to connect, and for one.
const RETRY: Duration = Duration::from_millis(50);
const TRY: Duration = Duration::from_secs(3);
/// Rank 0 may have begun to wait this much later.
const LATER: Duration = Duration::from_secs(10);

/// Joins the run of rank 0 and measures for it with `device` until it is over.
///
/// # Errors
/// Rank 0 is not reached, refuses this process, or ends before the run is over; a GPU that is
/// locked by another run.
pub fn serve(
    meeting: &Meeting<'_>,
    device: &mut dyn Device,
) -> Result<(), crate::error::CommandError> {
    let link = joined(meeting)?;
    let _locks = DeviceLock::take_all(&device.lock_keys())?;
    let (requests, mut answers) = link.into_parts();
    let hello = Hello { protocol: PROTOCOL, tool: meeting.tool.to_owned() };
    let abandoned = |_| RanksError::Abandoned;
    let greeting = line(&hello).map_err(|_| RanksError::Abandoned)?;
    std::io::Write::write_all(&mut answers, greeting.as_bytes()).map_err(abandoned)?;
    let mut asked = Asked { requests, answers: Box::new(answers) };
    let Some(Request::Open(_)) = asked.request().map_err(abandoned)? else {
        return Err(RanksError::Abandoned.into());
    };
    let facts = Box::new(Facts::of(device));
    asked.answer(&Answer::Opened(facts)).map_err(abandoned)?;
    match answer_all(&mut asked, device).map_err(abandoned)? {
        Parted::InOrder => Ok(()),
        Parted::Without => Err(RanksError::Abandoned.into()),
    }
}

/// The connection to rank 0, once all ranks have come.
pub(super) fn joined(meeting: &Meeting<'_>) -> Result<TcpLink, RanksError> {
    let until = Instant::now() + meeting.within;
    let unreached = |why: String| RanksError::Unreached {
        address: meeting.place.master.clone(),
        seconds: meeting.within.as_secs(),
        why,
    };
    let mut link = connected(&meeting.place.master, until).map_err(unreached)?;
    let challenge = link.receive(until).map_err(|why| unreached(words(&why)))?;
    let challenge: Challenge = serde_json::from_str(&challenge)
        .map_err(|_| unreached("who listens there is not this program".to_owned()))?;
    if challenge.protocol != PROTOCOL {
        return Err(RanksError::Refused("it is of another version".to_owned()));
    }
    let claim = Claim::of(meeting, &challenge.fresh).map_err(|e| unreached(e.to_string()))?;
    let text = line(&claim).map_err(|error| unreached(error.to_string()))?;
    link.send(&text).map_err(|error| unreached(error.to_string()))?;
    let verdict = link.receive(until + LATER).map_err(|why| unreached(words(&why)))?;
    match serde_json::from_str(&verdict) {
        Ok(Verdict::Welcome(proof))
            if proof == token::proof(&meeting.place.token, &claim.fresh, HOST) =>
        {
            Ok(link)
        }
        Ok(Verdict::Refused(why)) => Err(RanksError::Refused(why)),
        _ => Err(unreached("who listens there does not know the token".to_owned())),
    }
}

/// Tries until it succeeds; the last error.
fn connected(address: &str, until: Instant) -> Result<TcpLink, String> {
    loop {
        let why = match address.to_socket_addrs() {
            Ok(addresses) => {
                let mut why = "the name has no address".to_owned();
                for address in addresses {
                    match TcpStream::connect_timeout(&address, TRY).and_then(TcpLink::new) {
                        Ok(link) => return Ok(link),
                        Err(error) => why = error.to_string(),
                    }
                }
                why
            }
            Err(error) => error.to_string(),
        };
        if Instant::now() >= until {
            return Err(why);
        }
        std::thread::sleep(RETRY);
    }
}

fn words(why: &NoLine) -> String {
    match why {
        NoLine::Late => "it says nothing".to_owned(),
        NoLine::Ended => "it has ended".to_owned(),
        NoLine::Noise(_) => "who listens there is not this program".to_owned(),
    }
}
