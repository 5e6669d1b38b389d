//! Lists of attributes; each is a message of its own on the wire.

use prost::Message;

/// Values of type `double`.
#[derive(Clone, PartialEq, Message)]
pub struct DoubleList {
    /// The values.
    #[prost(double, repeated, tag = "1")]
    pub values: Vec<f64>,
}

/// Values of type `float`.
#[derive(Clone, PartialEq, Message)]
pub struct FloatList {
    /// The values.
    #[prost(float, repeated, tag = "1")]
    pub values: Vec<f32>,
}

/// Values of type `int32`.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Int32List {
    /// The values.
    #[prost(int32, repeated, tag = "1")]
    pub values: Vec<i32>,
}

/// Values of type `int64`.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Int64List {
    /// The values.
    #[prost(int64, repeated, tag = "1")]
    pub values: Vec<i64>,
}

/// Values of type `uint32`.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Uint32List {
    /// The values.
    #[prost(uint32, repeated, tag = "1")]
    pub values: Vec<u32>,
}

/// Values of type `uint64`.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Uint64List {
    /// The values.
    #[prost(uint64, repeated, tag = "1")]
    pub values: Vec<u64>,
}

/// Values of type `sint32`.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Sint32List {
    /// The values.
    #[prost(sint32, repeated, tag = "1")]
    pub values: Vec<i32>,
}

/// Values of type `sint64`.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Sint64List {
    /// The values.
    #[prost(sint64, repeated, tag = "1")]
    pub values: Vec<i64>,
}

/// Values of type `fixed32`.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Fixed32List {
    /// The values.
    #[prost(fixed32, repeated, tag = "1")]
    pub values: Vec<u32>,
}

/// Values of type `fixed64`.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Fixed64List {
    /// The values.
    #[prost(fixed64, repeated, tag = "1")]
    pub values: Vec<u64>,
}

/// Values of type `sfixed32`.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Sfixed32List {
    /// The values.
    #[prost(sfixed32, repeated, tag = "1")]
    pub values: Vec<i32>,
}

/// Values of type `sfixed64`.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Sfixed64List {
    /// The values.
    #[prost(sfixed64, repeated, tag = "1")]
    pub values: Vec<i64>,
}

/// Values of type `bool`.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct BoolList {
    /// The values.
    #[prost(bool, repeated, tag = "1")]
    pub values: Vec<bool>,
}

/// Values of type `string`.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct StringList {
    /// The values.
    #[prost(string, repeated, tag = "1")]
    pub values: Vec<String>,
}

/// Values of type `bytes`.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct BytesList {
    /// The values.
    #[prost(bytes = "vec", repeated, tag = "1")]
    pub values: Vec<Vec<u8>>,
}
