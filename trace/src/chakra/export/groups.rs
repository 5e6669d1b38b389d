//! Numbers for process groups: a consumer names groups by integers, with their ranks in a file
//! beside the traces; 0 is all ranks.

use std::collections::BTreeMap;

use crate::graph::{Graph, GroupId};

/// The number of the group of all ranks.
pub const ALL: u64 = 0;

/// Groups by number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupNumbers {
    numbers: BTreeMap<GroupId, u64>,
    ranks: BTreeMap<u64, Vec<u32>>,
}

impl GroupNumbers {
    /// Numbers the groups of a graph: as they are called where that is a number, else the next
    /// free one. Groups of which only the size is known have no number, unless it is everybody.
    pub fn of(graph: &Graph) -> Self {
        let stated = graph.ranks.iter().filter_map(|rank| rank.world_size).max();
        let recorded = graph.ranks.iter().map(|rank| rank.number.saturating_add(1)).max();
        let world = stated.or(recorded).unwrap_or(0);
        let mut groups = GroupNumbers::default();
        let mut unnamed = Vec::new();
        for (place, group) in (0..).zip(&graph.groups) {
            let id = GroupId(place);
            let mut ranks = group.ranks.clone();
            ranks.sort_unstable();
            ranks.dedup();
            let all = match ranks.is_empty() {
                true => group.size.is_none_or(|size| size >= world),
                false => ranks.len() as u64 >= u64::from(world),
            };
            let name = graph.names.text(group.name).parse::<u64>().ok();
            match name.filter(|&name| name != ALL && !groups.ranks.contains_key(&name)) {
                _ if all => groups.add(id, ALL, Vec::new()),
                _ if ranks.is_empty() => {}
                Some(name) => groups.add(id, name, ranks),
                None => unnamed.push((id, ranks)),
            }
        }
        for (id, ranks) in unnamed {
            let next = groups.ranks.keys().next_back().map_or(1, |last| last.saturating_add(1));
            groups.add(id, next, ranks);
        }
        groups
    }

    fn add(&mut self, id: GroupId, number: u64, ranks: Vec<u32>) {
        self.numbers.insert(id, number);
        if number != ALL {
            self.ranks.insert(number, ranks);
        }
    }

    /// The number of a group; none where its ranks are not known.
    pub fn number(&self, group: GroupId) -> Option<u64> {
        self.numbers.get(&group).copied()
    }

    /// Whether there are groups besides all ranks.
    pub fn is_empty(&self) -> bool {
        self.ranks.is_empty()
    }

    /// `comm_group.json`: ranks by number, for all but group 0.
    pub fn to_json(&self) -> String {
        let group = |(number, ranks): (&u64, &Vec<u32>)| {
            let ranks: Vec<String> = ranks.iter().map(u32::to_string).collect();
            format!("  \"{number}\": [{}]", ranks.join(", "))
        };
        let groups: Vec<String> = self.ranks.iter().map(group).collect();
        match groups.is_empty() {
            true => "{}\n".to_owned(),
            false => format!("{{\n{}\n}}\n", groups.join(",\n")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Group;
    use crate::names::Symbol;

    #[test]
    fn groups_get_numbers() {
        let mut graph = crate::write::sample::graph();
        let mut group = |name: &str, size, ranks: &[u32]| Group {
            name: graph.names.symbol(name),
            description: Symbol::EMPTY,
            size,
            ranks: ranks.to_vec(),
        };
        let groups = vec![
            group("0", Some(4), &[3, 2, 1, 0]),
            group("7", Some(2), &[2, 0]),
            group("tensor", Some(2), &[1, 3]),
            group("cut", Some(2), &[]),
            group("everybody", None, &[]),
        ];
        graph.groups = groups;
        let numbers = GroupNumbers::of(&graph);
        let all: Vec<_> = (0..5).map(|place| numbers.number(GroupId(place))).collect();
        assert_eq!(all, [Some(0), Some(7), Some(8), None, Some(0)]);
        assert_eq!(numbers.to_json(), "{\n  \"7\": [0, 2],\n  \"8\": [1, 3]\n}\n");
    }
}
