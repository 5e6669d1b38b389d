//! Which calls of NCCL make up a collective, and how many elements each takes.

use kernelgauge_data::{Collective, CollectivePoint};

use super::function::Function;
use super::library::Library;

/// How a collective is made in a given library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// By one call of its own.
    Call(Function),
    /// By sends and receives in one group.
    SendsAndReceives,
}

impl Route {
    /// How `library` makes `collective`. It is to be recorded: a call of its own may use other
    /// algorithms than the group.
    pub fn of(collective: Collective, library: &Library) -> Self {
        let function = match collective {
            Collective::AllReduce => Function::AllReduce,
            Collective::AllGather => Function::AllGather,
            Collective::ReduceScatter => Function::ReduceScatter,
            Collective::Broadcast => Function::Broadcast,
            Collective::Reduce => Function::Reduce,
            // These three have had a call of their own since 2.28.
            Collective::AllToAll if library.has(Function::AllToAll) => Function::AllToAll,
            Collective::Gather if library.has(Function::Gather) => Function::Gather,
            Collective::Scatter if library.has(Function::Scatter) => Function::Scatter,
            Collective::AllToAll
            | Collective::Gather
            | Collective::Scatter
            | Collective::AllToAllV
            | Collective::SendRecv => return Route::SendsAndReceives,
        };
        Route::Call(function)
    }
}

/// The count that the calls of `point` take, in elements: of a whole buffer where every rank
/// has as much, of one rank's part where buffers hold the parts of all. `None` where the bytes
/// do not divide evenly.
pub fn elements(point: &CollectivePoint) -> Option<u64> {
    let parts = match point.collective {
        Collective::AllReduce
        | Collective::Broadcast
        | Collective::Reduce
        | Collective::SendRecv => 1,
        Collective::AllGather
        | Collective::ReduceScatter
        | Collective::AllToAll
        | Collective::AllToAllV
        | Collective::Gather
        | Collective::Scatter => point.ranks,
    };
    let unit = parts.checked_mul(point.dtype.size()).filter(|unit| *unit > 0)?;
    point.bytes.is_multiple_of(unit).then(|| point.bytes / unit)
}

#[cfg(test)]
mod tests {
    use kernelgauge_data::{Dtype, Links};

    use super::*;

    #[test]
    fn counts_follow_the_size_that_nccl_tests_states() {
        let point = |collective, bytes| CollectivePoint {
            collective,
            dtype: Dtype::F32,
            ranks: 8,
            nodes: 1,
            links: Links::Nvswitch,
            bytes,
            imbalance: 100,
        };
        for (collective, bytes, count) in [
            (Collective::AllReduce, 1024, Some(256)),
            (Collective::AllGather, 1024, Some(32)),
            (Collective::AllToAll, 1024, Some(32)),
            (Collective::SendRecv, 8, Some(2)),
            (Collective::AllReduce, 6, None),
            (Collective::ReduceScatter, 48, None),
        ] {
            assert_eq!(elements(&point(collective, bytes)), count, "{collective} {bytes}");
        }
    }
}
