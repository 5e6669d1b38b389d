//! What the caller knows about a file that the file itself may not say.

use crate::dtype::Dtype;
use crate::family::Family;
use crate::import::Condition;
use crate::machine::Links;
use crate::point::Collective;

/// Facts stated by the caller. They fill gaps; they never overrule what a file says about
/// itself, and a contradiction is an error.
#[derive(Debug, Clone)]
pub struct ImportOptions {
    /// Element type of tables that name none.
    pub dtype: Option<Dtype>,
    /// Op of tables that name none (`softmax`, or the name of a custom op).
    pub op: Option<String>,
    /// The input content to keep when a table mixes several.
    pub input: Option<String>,
    /// Family of a table whose columns fit several.
    pub family: Option<Family>,
    /// Collective of logs that name none.
    pub collective: Option<Collective>,
    /// Ranks of logs that name none.
    pub ranks: Option<u64>,
    /// Nodes of logs that name no hosts.
    pub nodes: Option<u64>,
    /// Links between the ranks of one node; no log states them.
    pub links: Links,
    /// The rows of tables to keep, by what stands in their columns; empty for all.
    pub conditions: Vec<Condition>,
    /// Refuse a file of which any row is dropped.
    pub strict: bool,
    /// Largest input file in bytes.
    pub max_bytes: u64,
}

impl Default for ImportOptions {
    fn default() -> Self {
        /// Ten times the largest published table; what is larger is no table.
        const MAX_BYTES: u64 = 512 << 20;
        ImportOptions {
            dtype: None,
            op: None,
            input: None,
            family: None,
            collective: None,
            ranks: None,
            nodes: None,
            links: Links::Unstated,
            conditions: Vec::new(),
            strict: false,
            max_bytes: MAX_BYTES,
        }
    }
}
