//! An event as it stands in the file: what is wanted of it, borrowed from the text.
//!
//! Written out and not derived, because a repeated key is no error (the last one counts), what
//! comes after a category that is not wanted need not be understood, and writers of six years
//! call the same thing by different keys.

use std::fmt;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;

use super::kind;
use super::scalar::{Integer, Label, Text, Triple};

/// One event.
#[derive(Debug, Default)]
pub(super) struct WireEvent<'a> {
    /// `ph`: what shape of event it is.
    pub phase: Text<'a>,
    /// `cat`.
    pub category: Text<'a>,
    /// `name`.
    pub name: Text<'a>,
    /// `ts`, in microseconds.
    pub start: Option<&'a RawValue>,
    /// `dur`, in microseconds.
    pub duration: Option<&'a RawValue>,
    /// `pid`.
    pub process: Label<'a>,
    /// `tid`.
    pub thread: Label<'a>,
    /// `id`, of arrows.
    pub id: Integer,
    /// `args`, unless they are not wanted.
    pub arguments: WireArguments<'a>,
}

/// Declares the keys of an object, reads them, and passes over all others.
macro_rules! keys {
    ($(#[$note:meta])* $type:ident { $($key:ident = $($text:literal)|+,)* }) => {
        $(#[$note])*
        enum $type {
            $($key,)*
            Other,
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Key;
                impl Visitor<'_> for Key {
                    type Value = $type;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str("a key")
                    }
                    fn visit_bytes<E>(self, key: &[u8]) -> Result<$type, E> {
                        Ok(match key {
                            $($($text)|+ => $type::$key,)*
                            _ => $type::Other,
                        })
                    }
                    fn visit_str<E: Error>(self, key: &str) -> Result<$type, E> {
                        self.visit_bytes(key.as_bytes())
                    }
                }
                // As bytes, which need not be checked for being text.
                deserializer.deserialize_bytes(Key)
            }
        }
    };
}

keys! {
    /// Keys of an event.
    EventKey {
        Phase = b"ph",
        Category = b"cat",
        Name = b"name",
        Start = b"ts",
        Duration = b"dur",
        Process = b"pid",
        Thread = b"tid",
        Arguments = b"args",
        Id = b"id",
    }
}

keys! {
    /// Keys of `args`.
    ArgumentKey {
        External = b"External id" | b"external id",
        RecordFunction = b"Record function id",
        Correlation = b"correlation",
        Sequence = b"Sequence number",
        ForwardThread = b"Fwd thread id",
        Dims = b"Input Dims" | b"Input dims",
        Types = b"Input type",
        Values = b"Concrete Inputs",
        Strides = b"Input Strides",
        Backend = b"kernel_backend",
        Stream = b"stream",
        Device = b"device",
        Bytes = b"bytes",
        Size = b"size",
        Grid = b"grid",
        Block = b"block",
        Registers = b"registers per thread",
        Shared = b"shared memory",
        AwaitedStream = b"wait_on_stream",
        RecordCorrelation = b"wait_on_cuda_event_record_corr_id",
        Event = b"wait_on_cuda_event_id",
        Collective = b"Collective name",
        Dtype = b"dtype",
        ElementsIn = b"In msg nelems",
        ElementsOut = b"Out msg nelems",
        GroupSize = b"Group size",
        Group = b"Process Group Name",
        GroupDescription = b"Process Group Description",
        GroupRanks = b"Process Group Ranks",
        SplitIn = b"In split size",
        SplitOut = b"Out split size",
        CollectiveSequence = b"Seq",
        Communicator = b"Comms Id",
        Source = b"Src Rank",
        Destination = b"Dst Rank",
    }
}

/// What is wanted of the `args` of an event.
#[derive(Debug, Default)]
pub(super) struct WireArguments<'a> {
    pub external: Integer,
    pub record_function: Integer,
    pub correlation: Integer,
    pub sequence: Integer,
    pub forward_thread: Integer,
    pub dims: Option<&'a RawValue>,
    pub types: Option<&'a RawValue>,
    pub values: Option<&'a RawValue>,
    pub strides: Option<&'a RawValue>,
    pub backend: Text<'a>,
    pub stream: Integer,
    pub device: Integer,
    pub bytes: Integer,
    pub size: Integer,
    pub grid: Triple,
    pub block: Triple,
    pub registers: Integer,
    pub shared: Integer,
    pub awaited_stream: Integer,
    pub record_correlation: Integer,
    pub event: Integer,
    pub collective: Option<Box<WireCollective<'a>>>,
}

/// What is stated of a collective; few events state anything.
#[derive(Debug, Default)]
pub(super) struct WireCollective<'a> {
    pub name: Text<'a>,
    pub dtype: Text<'a>,
    pub elements_in: Integer,
    pub elements_out: Integer,
    pub group_size: Integer,
    pub group: Text<'a>,
    pub description: Text<'a>,
    pub ranks: Option<&'a RawValue>,
    pub split_in: Option<&'a RawValue>,
    pub split_out: Option<&'a RawValue>,
    pub sequence: Integer,
    pub communicator: Text<'a>,
    pub source: Integer,
    pub destination: Integer,
}

/// Fills an event or its arguments in place: they are large, and moving them takes as long as
/// reading a short one.
pub(super) struct Fill<'place, T>(pub &'place mut T);

impl<'de> DeserializeSeed<'de> for Fill<'_, WireEvent<'de>> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Fill<'_, WireEvent<'de>> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let event = self.0;
        while let Some(key) = map.next_key()? {
            match key {
                EventKey::Phase => event.phase = map.next_value()?,
                EventKey::Category => event.category = map.next_value()?,
                EventKey::Name => event.name = map.next_value()?,
                EventKey::Start => event.start = Some(map.next_value()?),
                EventKey::Duration => event.duration = Some(map.next_value()?),
                EventKey::Process => event.process = map.next_value()?,
                EventKey::Thread => event.thread = map.next_value()?,
                EventKey::Id => event.id = map.next_value()?,
                EventKey::Arguments if kind::wants_arguments(&event.phase.0, &event.category.0) => {
                    map.next_value_seed(Fill(&mut event.arguments))?;
                }
                EventKey::Arguments | EventKey::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Fill<'_, WireArguments<'de>> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Fill<'_, WireArguments<'de>> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("arguments")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let arguments = self.0;
        *arguments = WireArguments::default();
        while let Some(key) = map.next_key()? {
            match key {
                ArgumentKey::External => arguments.external = map.next_value()?,
                ArgumentKey::RecordFunction => arguments.record_function = map.next_value()?,
                ArgumentKey::Correlation => arguments.correlation = map.next_value()?,
                ArgumentKey::Sequence => arguments.sequence = map.next_value()?,
                ArgumentKey::ForwardThread => arguments.forward_thread = map.next_value()?,
                ArgumentKey::Dims => arguments.dims = Some(map.next_value()?),
                ArgumentKey::Types => arguments.types = Some(map.next_value()?),
                ArgumentKey::Values => arguments.values = Some(map.next_value()?),
                ArgumentKey::Strides => arguments.strides = Some(map.next_value()?),
                ArgumentKey::Backend => arguments.backend = map.next_value()?,
                ArgumentKey::Stream => arguments.stream = map.next_value()?,
                ArgumentKey::Device => arguments.device = map.next_value()?,
                ArgumentKey::Bytes => arguments.bytes = map.next_value()?,
                ArgumentKey::Size => arguments.size = map.next_value()?,
                ArgumentKey::Grid => arguments.grid = map.next_value()?,
                ArgumentKey::Block => arguments.block = map.next_value()?,
                ArgumentKey::Registers => arguments.registers = map.next_value()?,
                ArgumentKey::Shared => arguments.shared = map.next_value()?,
                ArgumentKey::AwaitedStream => arguments.awaited_stream = map.next_value()?,
                ArgumentKey::RecordCorrelation => {
                    arguments.record_correlation = map.next_value()?
                }
                ArgumentKey::Event => arguments.event = map.next_value()?,
                ArgumentKey::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
                key => {
                    let collective = arguments.collective.get_or_insert_default();
                    collective.take(&key, &mut map)?;
                }
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
}

impl<'de> WireCollective<'de> {
    fn take<A: MapAccess<'de>>(&mut self, key: &ArgumentKey, map: &mut A) -> Result<(), A::Error> {
        match key {
            ArgumentKey::Collective => self.name = map.next_value()?,
            ArgumentKey::Dtype => self.dtype = map.next_value()?,
            ArgumentKey::ElementsIn => self.elements_in = map.next_value()?,
            ArgumentKey::ElementsOut => self.elements_out = map.next_value()?,
            ArgumentKey::GroupSize => self.group_size = map.next_value()?,
            ArgumentKey::Group => self.group = map.next_value()?,
            ArgumentKey::GroupDescription => self.description = map.next_value()?,
            ArgumentKey::GroupRanks => self.ranks = Some(map.next_value()?),
            ArgumentKey::SplitIn => self.split_in = Some(map.next_value()?),
            ArgumentKey::SplitOut => self.split_out = Some(map.next_value()?),
            ArgumentKey::CollectiveSequence => self.sequence = map.next_value()?,
            ArgumentKey::Communicator => self.communicator = map.next_value()?,
            ArgumentKey::Source => self.source = map.next_value()?,
            ArgumentKey::Destination => self.destination = map.next_value()?,
            _ => {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}
