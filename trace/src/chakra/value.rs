//! Attributes of Chakra's messages: a name and a value of one of thirty types.
//!
//! Left to others: which attributes mean what (`attribute`).

use prost::{Message, Oneof};

use super::list::{
    BoolList, BytesList, DoubleList, Fixed32List, Fixed64List, FloatList, Int32List, Int64List,
    Sfixed32List, Sfixed64List, Sint32List, Sint64List, StringList, Uint32List, Uint64List,
};

/// A named value.
#[derive(Clone, PartialEq, Message)]
pub struct Attribute {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// What it means, for people.
    #[prost(string, tag = "2")]
    pub description: String,
    /// The value.
    #[prost(
        oneof = "AttributeValue",
        tags = "3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32"
    )]
    pub value: Option<AttributeValue>,
}

/// A value of an attribute, by its type on the wire.
#[derive(Clone, PartialEq, Oneof)]
pub enum AttributeValue {
    /// One `double`.
    #[prost(double, tag = "3")]
    Double(f64),
    /// Many.
    #[prost(message, tag = "4")]
    DoubleList(DoubleList),
    /// One `float`.
    #[prost(float, tag = "5")]
    Float(f32),
    /// Many.
    #[prost(message, tag = "6")]
    FloatList(FloatList),
    /// One `int32`.
    #[prost(int32, tag = "7")]
    Int32(i32),
    /// Many.
    #[prost(message, tag = "8")]
    Int32List(Int32List),
    /// One `int64`.
    #[prost(int64, tag = "9")]
    Int64(i64),
    /// Many.
    #[prost(message, tag = "10")]
    Int64List(Int64List),
    /// One `uint32`.
    #[prost(uint32, tag = "11")]
    Uint32(u32),
    /// Many.
    #[prost(message, tag = "12")]
    Uint32List(Uint32List),
    /// One `uint64`.
    #[prost(uint64, tag = "13")]
    Uint64(u64),
    /// Many.
    #[prost(message, tag = "14")]
    Uint64List(Uint64List),
    /// One `sint32`.
    #[prost(sint32, tag = "15")]
    Sint32(i32),
    /// Many.
    #[prost(message, tag = "16")]
    Sint32List(Sint32List),
    /// One `sint64`.
    #[prost(sint64, tag = "17")]
    Sint64(i64),
    /// Many.
    #[prost(message, tag = "18")]
    Sint64List(Sint64List),
    /// One `fixed32`.
    #[prost(fixed32, tag = "19")]
    Fixed32(u32),
    /// Many.
    #[prost(message, tag = "20")]
    Fixed32List(Fixed32List),
    /// One `fixed64`.
    #[prost(fixed64, tag = "21")]
    Fixed64(u64),
    /// Many.
    #[prost(message, tag = "22")]
    Fixed64List(Fixed64List),
    /// One `sfixed32`.
    #[prost(sfixed32, tag = "23")]
    Sfixed32(i32),
    /// Many.
    #[prost(message, tag = "24")]
    Sfixed32List(Sfixed32List),
    /// One `sfixed64`.
    #[prost(sfixed64, tag = "25")]
    Sfixed64(i64),
    /// Many.
    #[prost(message, tag = "26")]
    Sfixed64List(Sfixed64List),
    /// One `bool`.
    #[prost(bool, tag = "27")]
    Bool(bool),
    /// Many.
    #[prost(message, tag = "28")]
    BoolList(BoolList),
    /// One `string`.
    #[prost(string, tag = "29")]
    String(String),
    /// Many.
    #[prost(message, tag = "30")]
    StringList(StringList),
    /// One `bytes`.
    #[prost(bytes = "vec", tag = "31")]
    Bytes(Vec<u8>),
    /// Many.
    #[prost(message, tag = "32")]
    BytesList(BytesList),
}
