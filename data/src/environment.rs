//! The facts about a machine that decide whether two runs may be mixed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Facts recorded once per run, from an allow-list: never an environment variable, a user
/// name, a host name, a UUID or a serial number.
///
/// Keys are snake_case words with their unit (`cpu_model`, `threads`, `memory_bytes`,
/// `driver_version`); values are text as the system reports them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Environment(BTreeMap<String, String>);

/// One fact that differs between two environments; `None` where one side lacks it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Name of the fact.
    pub fact: String,
    /// Value recorded earlier.
    pub before: Option<String>,
    /// Value now.
    pub now: Option<String>,
}

impl Environment {
    /// Whether no fact is recorded.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Records a fact, replacing an earlier value.
    pub fn set(&mut self, fact: &str, value: impl Into<String>) {
        self.0.insert(fact.to_owned(), value.into());
    }

    /// The value of a fact.
    pub fn get(&self, fact: &str) -> Option<&str> {
        self.0.get(fact).map(String::as_str)
    }

    /// All facts in name order.
    pub fn facts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(fact, value)| (fact.as_str(), value.as_str()))
    }

    /// Every fact that is not the same in `now`, in name order.
    pub fn differences(&self, now: &Environment) -> Vec<Difference> {
        let mut names: Vec<&String> = self.0.keys().chain(now.0.keys()).collect();
        names.sort();
        names.dedup();
        names
            .into_iter()
            .filter(|name| self.0.get(*name) != now.0.get(*name))
            .map(|name| Difference {
                fact: name.clone(),
                before: self.0.get(name).cloned(),
                now: now.0.get(name).cloned(),
            })
            .collect()
    }
}
