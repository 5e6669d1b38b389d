//! Events of the file as events of a recording.

use std::collections::HashMap;

use kernelgauge_data::Nanos;
use serde_json::value::RawValue;

use super::facts;
use super::kind::{self, Kind};
use super::scalar::Label;
use super::wire::WireEvent;
use crate::names::Symbol;
use crate::options::ReadOptions;
use crate::recording::{Category, Event, Flow, NONE, Recording, Track, TrackId};
use crate::time::{Moment, NoTime, nanos_of_micros};

/// The longest duration that is believed, in nanoseconds: 1e6 seconds, eleven days. Profilers
/// that lost the end of an event write the time since 1970, or since the machine started.
const LONGEST: i64 = 1_000_000_000_000_000;

/// Why an event was set aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SetAside {
    /// Its times cannot be.
    Absurd,
    /// It has no times.
    Untimed,
}

/// Builds a recording, event by event.
pub(super) struct Intake {
    pub(super) recording: Recording,
    keep_python: bool,
    tracks: HashMap<(Row, Row), TrackId>,
    /// The row of the last event, which is mostly that of the next.
    recent: Option<((i64, i64), TrackId)>,
}

/// One half of the name of a track.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Row {
    Number(i64),
    Text(Symbol),
}

impl Intake {
    pub(super) fn new(source_name: &str, options: &ReadOptions) -> Self {
        Intake {
            recording: Recording { source: source_name.to_owned(), ..Recording::default() },
            keep_python: options.keep_python,
            tracks: HashMap::new(),
            recent: None,
        }
    }

    /// Takes the next event; an error if it should have counted and was set aside.
    pub(super) fn take(&mut self, event: &WireEvent<'_>) -> Result<(), SetAside> {
        let oddities = &mut self.recording.oddities;
        match kind::of(&event.phase.0, &event.category.0, &event.name.0) {
            Kind::Timed(Category::Python) if !self.keep_python => oddities.python_functions += 1,
            Kind::Timed(Category::Overhead) if !self.keep_python => oddities.overheads += 1,
            Kind::Timed(category) => return self.timed(category, event),
            Kind::Arrow { begins } => return self.arrow(begins, event),
            Kind::LaunchArrow => oddities.launch_arrows += 1,
            Kind::Instant => oddities.instants += 1,
            Kind::Counter => oddities.counters += 1,
            Kind::Metadata => oddities.metadata += 1,
            Kind::Span => oddities.spans += 1,
            Kind::Unknown => oddities.unknown_kinds += 1,
        }
        Ok(())
    }

    fn timed(&mut self, category: Category, wire: &WireEvent<'_>) -> Result<(), SetAside> {
        let times = match (nanos(wire.start), nanos(wire.duration)) {
            (Ok(start), Ok(duration @ 0..=LONGEST)) => Ok((start, duration.cast_unsigned())),
            (Err(NoTime::NoNumber), _) | (_, Err(NoTime::NoNumber)) => Err(SetAside::Untimed),
            _ => Err(SetAside::Absurd),
        };
        let (start, duration) = times.inspect_err(|reason| match reason {
            SetAside::Absurd => self.recording.oddities.absurd_durations += 1,
            SetAside::Untimed => self.recording.oddities.untimed += 1,
        })?;
        let arguments = &wire.arguments;
        let event = Event {
            start: Moment::new(start),
            duration: Nanos::new(duration),
            correlation: arguments.correlation.0,
            external: arguments.external.0,
            record_function: arguments.record_function.0,
            sequence: arguments.sequence.0,
            name: self.recording.names.symbol(&wire.name.0),
            track: self.track(&wire.process, &wire.thread),
            facts: facts::row(&mut self.recording, category, arguments),
            category,
        };
        self.recording.events.push(event);
        self.recording.oddities.read += 1;
        Ok(())
    }

    fn arrow(&mut self, begins: bool, wire: &WireEvent<'_>) -> Result<(), SetAside> {
        let Ok(at) = nanos(wire.start) else {
            self.recording.oddities.untimed += 1;
            return Err(SetAside::Untimed);
        };
        if wire.id.0 != NONE {
            let track = self.track(&wire.process, &wire.thread);
            let at = Moment::new(at);
            self.recording.flows.push(Flow { id: wire.id.0, begins, at, track });
        }
        Ok(())
    }

    fn track(&mut self, process: &Label<'_>, thread: &Label<'_>) -> TrackId {
        let numbers = match (process, thread) {
            (Label::Number(process), Label::Number(thread)) => Some((*process, *thread)),
            _ => None,
        };
        if let (Some(numbers), Some((recent, track))) = (numbers, self.recent)
            && numbers == recent
        {
            return track;
        }
        let key = (self.row(process), self.row(thread));
        let track = match self.tracks.get(&key) {
            Some(&track) => track,
            None => self.new_track(key),
        };
        if let Some(numbers) = numbers {
            self.recent = Some((numbers, track));
        }
        track
    }

    fn row(&mut self, label: &Label<'_>) -> Row {
        match label {
            Label::Missing => Row::Text(Symbol::EMPTY),
            Label::Number(number) => Row::Number(*number),
            Label::Text(text) => Row::Text(self.recording.names.symbol(text)),
        }
    }

    fn new_track(&mut self, key: (Row, Row)) -> TrackId {
        let names = &mut self.recording.names;
        let mut symbol = |row| match row {
            Row::Number(number) => names.symbol(&number.to_string()),
            Row::Text(symbol) => symbol,
        };
        let (process, thread) = (symbol(key.0), symbol(key.1));
        // As many events do not fit into the memory of one machine.
        let track = TrackId(u32::try_from(self.recording.tracks.len()).unwrap_or(u32::MAX));
        self.recording.tracks.push(Track { process, thread });
        self.tracks.insert(key, track);
        track
    }

    /// Makes times absolute: they were written relative to `base` nanoseconds after 1970. They
    /// stay as they are, and say so, if the sum does not fit.
    pub(super) fn rebase(&mut self, base: i64) {
        let recording = &mut self.recording;
        let starts = || recording.events.iter().map(|event| event.start);
        let moments = || starts().chain(recording.flows.iter().map(|flow| flow.at));
        // Ends fit where starts do with the longest duration to spare.
        let fits = |moment: Moment| {
            let sum = moment.get().checked_add(base);
            sum.is_some_and(|sum| sum.checked_add(LONGEST).is_some())
        };
        if !(moments().min().is_none_or(fits) && moments().max().is_none_or(fits)) {
            recording.oddities.relative = true;
            return;
        }
        for event in &mut recording.events {
            event.start = event.start.shifted(base);
        }
        for flow in &mut recording.flows {
            flow.at = flow.at.shifted(base);
        }
    }
}

/// Nanoseconds of a number of microseconds, which may be a text.
fn nanos(value: Option<&RawValue>) -> Result<i64, NoTime> {
    let text = value.map_or("", RawValue::get);
    let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    nanos_of_micros(inner.map_or(text, str::trim))
}
