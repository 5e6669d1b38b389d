//! Streaming over JSON files that are too long to be held: a window of text that moves on, where
//! a value ends, how a careless value is mended, and a walk over one long list.
//!
//! Left to others: what values mean (`kineto`, `execution`), with `serde_json`, whose limit on
//! nesting stands.

mod buffer;
mod mend;
mod pieces;
mod scan;

pub(crate) use buffer::{BYTE_ORDER_MARK, Buffer, Place, replaced};
pub(crate) use mend::mend;
pub(crate) use pieces::{Document, Piece};
pub(crate) use scan::Scan;
