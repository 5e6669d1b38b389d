//! Which collective a name means.

use crate::graph::CollectiveKind;

/// Spellings in metadata, ranges and ops, letters only and small, the longer before the shorter
/// where one begins the other.
const SPELLINGS: [(&str, CollectiveKind); 24] = [
    ("allreduce", CollectiveKind::AllReduce),
    ("allgather", CollectiveKind::AllGather),
    ("alltoallv", CollectiveKind::AllToAllV),
    ("alltoall", CollectiveKind::AllToAll),
    ("reducescatter", CollectiveKind::ReduceScatter),
    ("broadcast", CollectiveKind::Broadcast),
    ("barrier", CollectiveKind::Barrier),
    ("gather", CollectiveKind::Gather),
    ("scatter", CollectiveKind::Scatter),
    ("reduce", CollectiveKind::Reduce),
    ("send", CollectiveKind::Send),
    ("recv", CollectiveKind::Receive),
    ("recvanysource", CollectiveKind::Receive),
    ("pointtopointsend", CollectiveKind::Send),
    ("pointtopointrecv", CollectiveKind::Receive),
    ("allreducecoalesced", CollectiveKind::AllReduce),
    ("allgatherintotensorcoalesced", CollectiveKind::AllGather),
    ("allgatherbase", CollectiveKind::AllGather),
    ("allgatherintotensor", CollectiveKind::AllGather),
    ("reducescatterbase", CollectiveKind::ReduceScatter),
    ("reducescattertensor", CollectiveKind::ReduceScatter),
    ("reducescattertensorcoalesced", CollectiveKind::ReduceScatter),
    ("alltoallbase", CollectiveKind::AllToAllV),
    ("allgathercoalesced", CollectiveKind::AllGather),
];

/// The collective a range (`nccl:_all_gather_base`), an op (`c10d::allreduce_`) or metadata
/// (`all_to_allv`) names.
pub fn of_name(name: &str) -> Option<CollectiveKind> {
    let library = ["nccl:", "rccl:", "c10d::", "_c10d_functional::", "gloo:"];
    let bare = library.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
    // `nccl:send 0->1` names its ranks.
    let bare = bare.split([' ', '(']).next().unwrap_or(bare);
    let letters: String = bare.chars().filter(char::is_ascii_alphanumeric).collect();
    let letters = letters.to_ascii_lowercase();
    SPELLINGS.iter().find(|(spelling, _)| *spelling == letters).map(|(_, kind)| *kind)
}

/// The collective a kernel's name says: `ncclDevKernel_AllReduce_Sum_f32_RING_LL`. What is made
/// of sends and receives (all-to-all, among others) does not say.
pub fn of_kernel(name: &str) -> Option<CollectiveKind> {
    let rest = ["ncclDevKernel_", "ncclKernel_", "mscclKernel_"]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))?;
    match rest.split(['_', '(']).next()? {
        "AllReduce" => Some(CollectiveKind::AllReduce),
        "AllGather" => Some(CollectiveKind::AllGather),
        "ReduceScatter" => Some(CollectiveKind::ReduceScatter),
        "Broadcast" => Some(CollectiveKind::Broadcast),
        "Reduce" => Some(CollectiveKind::Reduce),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_names_collectives_its_own_way() {
        let check = |name, kind| assert_eq!(of_name(name), Some(kind), "{name}");
        check("nccl:all_reduce", CollectiveKind::AllReduce);
        check("allreduce", CollectiveKind::AllReduce);
        check("c10d::allreduce_", CollectiveKind::AllReduce);
        check("nccl:_all_gather_base", CollectiveKind::AllGather);
        check("_reduce_scatter_base", CollectiveKind::ReduceScatter);
        check("all_to_allv", CollectiveKind::AllToAllV);
        check("nccl:all_to_all", CollectiveKind::AllToAll);
        check("nccl:send 0->1", CollectiveKind::Send);
        assert_eq!(of_name("record_param_comms"), None);
        assert_eq!(of_name("aten::scatter_add"), None);
        let kernel = "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long)";
        assert_eq!(of_kernel(kernel), Some(CollectiveKind::AllReduce));
        assert_eq!(of_kernel("ncclDevKernel_SendRecv(ncclDevKernelArgs)"), None);
        assert_eq!(of_kernel("AllReduce"), None);
    }
}
