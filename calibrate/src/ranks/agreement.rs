//! Whether the processes of a job go together: each rank once, each GPU once, the same kind of
//! GPU and the same software everywhere, as many GPUs on every node.

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
    uneven(claims)
}

/// Nodes that do not have as many GPUs as the first, in words: a plan is made for one node and
/// the number of nodes.
fn uneven(claims: &[&Claim]) -> Option<String> {
    let mut nodes: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    for claim in claims {
        let (_, gpus) = nodes.entry(&claim.node).or_insert((claim.rank, 0));
        *gpus += claim.facts.machine.count;
    }
    let (_, first) = *nodes.get(claims.first()?.node.as_str())?;
    let (rank, gpus) = nodes.values().find(|(_, gpus)| *gpus != first)?;
    Some(format!("the node of rank {rank} has {gpus} of the GPUs, that of rank 0 has {first}"))
}

/// Number of nodes that the processes are on.
pub fn nodes(claims: &[&Claim]) -> u32 {
    let nodes: BTreeSet<&str> = claims.iter().map(|claim| claim.node.as_str()).collect();
    u32::try_from(nodes.len()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use kernelgauge_cuda::simulated::SimulatedDevice;

    use super::*;
    use crate::remote::wire::Facts;

    #[test]
    fn every_node_has_as_many_gpus_as_the_first() {
        let claim = |rank: u32, node: &str| {
            let mut facts = Facts::of(&SimulatedDevice::new(0));
            facts.machine.count = 1;
            facts.lock_keys = vec![format!("gpu-{rank}")];
            let [tool, fresh, proof] = [const { String::new() }; 3];
            Claim { tool, rank, ranks: 4, node: node.to_owned(), fresh, proof, facts }
        };
        let said = |nodes: [&str; 4]| {
            let claims: Vec<Claim> =
                (0..).zip(nodes).map(|(rank, node)| claim(rank, node)).collect();
            let claims: Vec<&Claim> = claims.iter().collect();
            (disagreement(&claims), super::nodes(&claims))
        };
        assert_eq!(said(["b", "a", "a", "b"]), (None, 2));
        let words = "the node of rank 2 has 2 of the GPUs, that of rank 0 has 1";
        assert_eq!(said(["b", "a", "c", "c"]), (Some(words.to_owned()), 3));
    }
}
