//! Process groups as consumers number them.

use std::collections::{BTreeMap, BTreeSet};

use crate::graph::{Graph, GroupId};

/// The groups of a graph by the numbers they are written under: 0 is all ranks, others are
/// listed in `comm_group.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExportedGroups {
    listed: BTreeMap<u64, Vec<u32>>,
    numbers: Vec<Option<u64>>,
}

impl ExportedGroups {
    /// Numbers the groups of a graph; the same ranks get the same number.
    pub fn of(graph: &Graph) -> Self {
        let all: BTreeSet<u32> = graph.ranks.iter().map(|rank| rank.number).collect();
        let stated = graph.ranks.iter().filter_map(|rank| rank.world_size).max().unwrap_or(0);
        let world = stated.max(u32::try_from(all.len()).unwrap_or(u32::MAX));
        let mut exported = ExportedGroups::default();
        for group in &graph.groups {
            let ranks: BTreeSet<u32> = group.ranks.iter().copied().collect();
            let whole = match ranks.is_empty() {
                // Recorders list no ranks for a group that has all of them.
                true => group.size.is_none_or(|size| size >= world),
                false => ranks.len() as u64 >= u64::from(world),
            };
            let number = match (whole, ranks.is_empty()) {
                (true, _) => Some(0),
                (false, true) => None,
                (false, false) => Some(exported.listed_as(ranks.into_iter().collect())),
            };
            exported.numbers.push(number);
        }
        exported
    }

    fn listed_as(&mut self, ranks: Vec<u32>) -> u64 {
        if let Some((number, _)) = self.listed.iter().find(|(_, listed)| **listed == ranks) {
            return *number;
        }
        let number = self.listed.len() as u64 + 1;
        self.listed.insert(number, ranks);
        number
    }

    /// The number of a group; none where its ranks are not known.
    pub fn number(&self, group: GroupId) -> Option<u64> {
        self.numbers.get(group.0 as usize).copied().flatten()
    }

    /// Groups that are not all ranks, by number.
    pub fn listed(&self) -> &BTreeMap<u64, Vec<u32>> {
        &self.listed
    }

    /// The text of `comm_group.json`: `{"1": [0, 2]}`.
    pub fn json(&self) -> String {
        let groups: serde_json::Map<String, serde_json::Value> = self
            .listed
            .iter()
            .map(|(number, ranks)| (number.to_string(), ranks.clone().into()))
            .collect();
        format!("{}\n", serde_json::Value::from(groups))
    }
}
