//! Rank 0 listens until every other rank has come, proved that it belongs here, and agrees.
//!
//! Whoever has no proof is refused and otherwise ignored: a stray connection must not end a job.
//! What a rank of this job claims wrongly ends it, with the same words on every rank.

use std::collections::BTreeMap;
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::error::RanksError;
use super::tcp::TcpLink;
use super::{Meeting, agreement, token};
use crate::remote::Link as _;
use crate::remote::wire::{Facts, PROTOCOL, line};

/// Time a connection has to say who it is.
const INTRODUCTION: Duration = Duration::from_secs(5);
/// Time between two looks for connections.
const LOOK: Duration = Duration::from_millis(5);

/// What rank 0 says first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Challenge {
    /// Its protocol.
    pub protocol: u32,
    /// A fresh number.
    pub fresh: String,
}

/// What a rank says of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// Version of its program.
    pub tool: String,
    /// Its number.
    pub rank: u32,
    /// How many there are, as it was told.
    pub ranks: u32,
    /// A digest of its node.
    pub node: String,
    /// A fresh number.
    pub fresh: String,
    /// Its proof.
    pub proof: String,
    /// Facts of its GPUs.
    pub facts: Facts,
}

impl Claim {
    /// That of the process of `meeting`, who answers `challenge`, a fresh number.
    ///
    /// # Errors
    /// What the system says.
    pub fn of(meeting: &Meeting<'_>, challenge: &str) -> std::io::Result<Self> {
        let (rank, ranks) = (meeting.place.rank, meeting.place.ranks);
        Ok(Claim {
            tool: meeting.tool.to_owned(),
            rank,
            ranks,
            node: token::node(),
            fresh: token::fresh()?,
            proof: token::proof(&meeting.place.token, challenge, &who(rank, ranks)),
            facts: meeting.facts.clone(),
        })
    }
}

/// What rank 0 says when all have come, or at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// All have come; with rank 0's proof.
    Welcome(String),
    /// Why not.
    Refused(String),
}

/// What is proved by a rank.
fn who(rank: u32, ranks: u32) -> String {
    format!("rank {rank} of {ranks}")
}

/// What is proved by rank 0.
pub const HOST: &str = "rank 0 welcomes";

/// A rank that has come.
pub struct Arrived {
    /// What it said.
    pub claim: Claim,
    /// Its connection.
    pub link: TcpLink,
}

/// All ranks but this one, in order, and the number of nodes.
///
/// # Errors
/// Ranks that are missing at the deadline, or that do not go together; every rank is told.
pub fn gather(meeting: &Meeting<'_>) -> Result<(Vec<Arrived>, u32), RanksError> {
    let address = &meeting.place.master;
    let listen = |source| RanksError::Listen { address: address.clone(), source };
    let listener = TcpListener::bind(address.as_str()).map_err(listen)?;
    listener.set_nonblocking(true).map_err(listen)?;
    let mut arrived = BTreeMap::new();
    match all(meeting, &listener, &mut arrived) {
        Ok(nodes) => {
            for Arrived { claim, link } in arrived.values_mut() {
                let proof = token::proof(&meeting.place.token, &claim.fresh, HOST);
                tell(link, &Verdict::Welcome(proof));
            }
            Ok((arrived.into_values().collect(), nodes))
        }
        Err(error) => {
            for Arrived { link, .. } in arrived.values_mut() {
                tell(link, &Verdict::Refused(error.to_string()));
            }
            Err(error)
        }
    }
}

/// Waits for all, and compares them; the number of nodes.
fn all(
    meeting: &Meeting<'_>,
    listener: &TcpListener,
    arrived: &mut BTreeMap<u32, Arrived>,
) -> Result<u32, RanksError> {
    let until = Instant::now() + meeting.within;
    let (sender, introduced) = channel();
    let mut refused = 0;
    while arrived.len() + 1 < meeting.place.ranks as usize {
        if Instant::now() >= until {
            return Err(missing(meeting, arrived, refused));
        }
        match listener.accept() {
            Ok((stream, _)) => introduce(stream, &meeting.place.token, &sender),
            // No one is there, or who was there has left again.
            Err(_) => std::thread::sleep(LOOK),
        }
        refused += take(meeting, &introduced, arrived)?;
    }
    let own = Claim::of(meeting, "")
        .map_err(|source| RanksError::Listen { address: meeting.place.master.clone(), source })?;
    let claims: Vec<&Claim> =
        std::iter::once(&own).chain(arrived.values().map(|rank| &rank.claim)).collect();
    match agreement::disagreement(&claims) {
        Some(what) => Err(RanksError::Disagreement(what)),
        None => Ok(agreement::nodes(&claims)),
    }
}

/// Takes those who have introduced themselves; how many had no proof.
fn take(
    meeting: &Meeting<'_>,
    introduced: &Receiver<Option<Arrived>>,
    arrived: &mut BTreeMap<u32, Arrived>,
) -> Result<usize, RanksError> {
    let mut refused = 0;
    while let Ok(next) = introduced.try_recv() {
        let Some(mut next) = next else {
            refused += 1;
            continue;
        };
        let Claim { rank, ranks, ref tool, .. } = next.claim;
        let wrong = if tool != meeting.tool {
            Some(format!("rank {rank} is of version {tool}, rank 0 of {}", meeting.tool))
        } else if ranks != meeting.place.ranks {
            let expected = meeting.place.ranks;
            Some(format!("rank {rank} was told of {ranks} ranks, rank 0 of {expected}"))
        } else if rank == 0 || rank >= ranks {
            Some(format!("a second process says to be rank {rank} of {ranks}"))
        } else if arrived.contains_key(&rank) {
            Some(format!("two processes say to be rank {rank}"))
        } else {
            None
        };
        if let Some(what) = wrong {
            let error = RanksError::Disagreement(what);
            tell(&mut next.link, &Verdict::Refused(error.to_string()));
            return Err(error);
        }
        arrived.insert(rank, next);
    }
    Ok(refused)
}

/// Lets a connection say who it is, on a thread of its own: none is waited for by the others.
fn introduce(stream: TcpStream, token: &str, sender: &Sender<Option<Arrived>>) {
    let (token, sender) = (token.to_owned(), sender.clone());
    std::thread::spawn(move || {
        // Once everybody is there, no one listens any more.
        let _ = sender.send(introduced(stream, &token));
    });
}

/// Who it is; none without a proof.
fn introduced(stream: TcpStream, token: &str) -> Option<Arrived> {
    let until = Instant::now() + INTRODUCTION;
    let mut link = TcpLink::new(stream).ok()?;
    let fresh = token::fresh().ok()?;
    let challenge = Challenge { protocol: PROTOCOL, fresh: fresh.clone() };
    link.send(&line(&challenge).ok()?).ok()?;
    let claim: Claim = serde_json::from_str(&link.receive(until).ok()?).ok()?;
    if claim.proof != token::proof(token, &fresh, &who(claim.rank, claim.ranks)) {
        let why = "its token is not that of rank 0, or it is of another job";
        tell(&mut link, &Verdict::Refused(why.to_owned()));
        return None;
    }
    Some(Arrived { claim, link })
}

fn tell(link: &mut TcpLink, verdict: &Verdict) {
    if let Ok(text) = line(verdict) {
        // A rank that is gone needs no verdict.
        let _ = link.send(&text);
    }
}

fn missing(meeting: &Meeting<'_>, arrived: &BTreeMap<u32, Arrived>, refused: usize) -> RanksError {
    let ranks = meeting.place.ranks;
    let missing: Vec<String> = (1..ranks)
        .filter(|rank| !arrived.contains_key(rank))
        .map(|rank| rank.to_string())
        .collect();
    RanksError::Missing {
        missing: match missing.as_slice() {
            [one] => format!("rank {one}"),
            several => format!("ranks {}", several.join(", ")),
        },
        ranks,
        seconds: meeting.within.as_secs(),
        refused: match refused {
            0 => String::new(),
            1 => "; one connection without the right token was refused".to_owned(),
            more => format!("; {more} connections without the right token were refused"),
        },
    }
}
