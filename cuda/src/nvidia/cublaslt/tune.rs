//! Choosing among the algorithms that the library proposes by timing them.
//!
//! Each is executed once and its result compared, then timed in a few rounds, in an order that
//! the seed decides anew for every round; the shortest time counts. One that is refused or wrong
//! is passed over. What the driver says of the GPU itself ends the choice. For a cold product each
//! timing is of one execution after a flush.

use kernelgauge_data::{Failure, Nanos};

use super::{Candidate, Product};
use crate::nvidia::operation::{Bench, Operation};
use crate::random::Random;

/// Rounds of timings.
const ROUNDS: u32 = 3;
/// A timing lasts about so long, by the first, and takes at most so many executions.
const LASTS: Nanos = Nanos::new(200_000);
const MOST_EXECUTIONS: u64 = 32;

/// A candidate that computes what it should.
struct Sound {
    candidate: Candidate,
    executions: u64,
    fastest: Option<f64>,
}

/// The fastest of `candidates` for `product`, which keeps the one timed last.
///
/// # Errors
/// When none computes what it should, or what the driver says.
pub fn tuned(
    product: &mut Product,
    candidates: &[Candidate],
    seed: u64,
    bench: &mut Bench<'_>,
) -> Result<Candidate, Failure> {
    let mut refused = None;
    let mut sound = Vec::new();
    for candidate in candidates {
        product.choose(*candidate);
        match is_sound(product, bench) {
            Ok(executions) => {
                sound.push(Sound { candidate: *candidate, executions, fastest: None });
            }
            Err(failure) => refused = Some(failure),
        }
        // A GPU that failed says so here, and fails whatever comes next.
        bench.stream.synchronize()?;
    }
    let mut random = Random::stream(seed, 2);
    for _ in 0..ROUNDS {
        for last in (1..sound.len()).rev() {
            sound.swap(last, random.below(last as u64 + 1) as usize);
        }
        for each in &mut sound {
            product.choose(each.candidate);
            let Ok(time) = timed(product, each.executions, bench) else { continue };
            let time = time.as_f64() / each.executions as f64;
            each.fastest = Some(each.fastest.map_or(time, |fastest| fastest.min(time)));
        }
    }
    let timed = sound.iter().filter_map(|each| Some((each.fastest?, each.candidate)));
    match timed.min_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((_, candidate)) => Ok(candidate),
        // None could be timed: the library's own order decides.
        None => match (sound.first(), refused) {
            (Some(each), _) => Ok(each.candidate),
            (None, Some(failure)) => Err(failure),
            (None, None) => Err(Failure::Device("no algorithm was proposed".to_owned())),
        },
    }
}

/// How often to execute for one timing, of an algorithm whose result is right.
fn is_sound(product: &mut Product, bench: &mut Bench<'_>) -> Result<u64, Failure> {
    product.spoil()?;
    product.enqueue(bench.stream)?;
    bench.stream.synchronize()?;
    product.compare()?;
    if bench.flush.is_some() {
        return Ok(1);
    }
    let once = timed(product, 1, bench).unwrap_or(LASTS);
    Ok((LASTS.get() / once.get().max(1)).clamp(1, MOST_EXECUTIONS))
}

/// So many executions between two events.
fn timed(product: &mut Product, executions: u64, bench: &mut Bench<'_>) -> Result<Nanos, Failure> {
    let Some((begin, end)) = bench.pairs.first() else {
        return Err(Failure::Device("no events to time with".to_owned()));
    };
    bench.overwrite_cache()?;
    begin.record(bench.stream)?;
    (0..executions).try_for_each(|_| product.enqueue(bench.stream))?;
    end.record(bench.stream)?;
    bench.stream.synchronize()?;
    begin.until(end)
}
