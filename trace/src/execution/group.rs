//! Process groups, as the node `## process_group:init ##` states them.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::value;
use crate::recording::RecordedGroup;

/// The name of the node that states them.
pub(super) const NODE_NAME: &str = "## process_group:init ##";

#[derive(Deserialize)]
struct WrittenGroup {
    pg_name: Option<String>,
    pg_desc: Option<String>,
    group_size: Option<u32>,
    #[serde(default)]
    ranks: Option<Vec<u32>>,
    /// Before 1.0.3 collectives name a group by this number.
    backend_id: Option<u64>,
}

/// The groups of a node's input values: a list whose first element is JSON once more, in a text.
/// None if it is not.
pub(super) fn groups(values: &RawValue) -> Option<Vec<(RecordedGroup, Option<u64>)>> {
    let text = value::text(value::list(values)?.first()?)?;
    let written: Vec<WrittenGroup> = serde_json::from_str(&text).ok()?;
    let groups = written.into_iter().map(|group| {
        let recorded = RecordedGroup {
            name: group.pg_name.unwrap_or_default(),
            description: group.pg_desc.unwrap_or_default(),
            size: group.group_size,
            ranks: group.ranks.unwrap_or_default(),
        };
        (recorded, group.backend_id)
    });
    Some(groups.collect())
}
