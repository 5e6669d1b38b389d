//! Whether the processes of a job go together: each rank once, each GPU once, the same kind of
//! GPU and the same software everywhere.

use std::collections::{BTreeMap, BTreeSet};

use super::gathering::Claim;

/// What keeps them apart, in words; nothing if they agree. Rank 0's claim comes first.
pub fn disagreement(claims: &[&Claim]) -> Option<String> {
    let first = claims.first()?;
    let mut owners: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    for claim in claims {
        for key in &claim.facts.lock_keys {
            if let Some(other) = owners.insert((&claim.node, key), claim.rank) {
                return Some(format!("ranks {other} and {} have the same GPU", claim.rank));
            }
        }
        let differences = first.facts.environment.differences(&claim.facts.environment);
        if let Some(difference) = differences.first() {
            let absent = "none".to_owned();
            return Some(format!(
                "ranks {} and {} differ in {}: {}, {}",
                first.rank,
                claim.rank,
                difference.fact,
                difference.before.as_ref().unwrap_or(&absent),
                difference.now.as_ref().unwrap_or(&absent),
            ));
        }
    }
    None
}

/// Number of nodes that the processes are on.
pub fn nodes(claims: &[&Claim]) -> u32 {
    let nodes: BTreeSet<&str> = claims.iter().map(|claim| claim.node.as_str()).collect();
    u32::try_from(nodes.len()).unwrap_or(u32::MAX)
}
