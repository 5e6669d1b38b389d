//! Collectives over several ranks.

use std::fmt;
use std::str::FromStr;

use crate::dtype::Dtype;
use crate::machine::Links;
use crate::nearest::{self, UnknownName};
use crate::point::parts::{Parameters, PointError, VariantName, Work, at_least_one};
use crate::units::Bytes;

/// A collective of NCCL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Collective {
    /// Every rank ends with the reduction of all.
    AllReduce,
    /// Every rank ends with the data of all.
    AllGather,
    /// Every rank ends with its part of the reduction.
    ReduceScatter,
    /// Every rank sends an equal part to every other.
    AllToAll,
    /// As all-to-all, with unequal parts.
    AllToAllV,
    /// One rank's data to all.
    Broadcast,
    /// The reduction to one rank.
    Reduce,
    /// All data to one rank.
    Gather,
    /// One rank's parts to all.
    Scatter,
    /// Each rank sends to its neighbour and receives from the other.
    SendRecv,
}

impl Collective {
    /// Every collective.
    pub const ALL: [Collective; 10] = [
        Collective::AllReduce,
        Collective::AllGather,
        Collective::ReduceScatter,
        Collective::AllToAll,
        Collective::AllToAllV,
        Collective::Broadcast,
        Collective::Reduce,
        Collective::Gather,
        Collective::Scatter,
        Collective::SendRecv,
    ];

    /// The name in files; on the command line `-` stands for `_`.
    pub const fn name(self) -> &'static str {
        match self {
            Collective::AllReduce => "all_reduce",
            Collective::AllGather => "all_gather",
            Collective::ReduceScatter => "reduce_scatter",
            Collective::AllToAll => "all_to_all",
            Collective::AllToAllV => "all_to_all_v",
            Collective::Broadcast => "broadcast",
            Collective::Reduce => "reduce",
            Collective::Gather => "gather",
            Collective::Scatter => "scatter",
            Collective::SendRecv => "send_recv",
        }
    }

    /// Bus bandwidth over algorithm bandwidth, as nccl-tests defines it since June 2020:
    /// all-reduce `2 (n-1) / n`; all-gather, reduce-scatter, all-to-all, gather and scatter
    /// `(n-1) / n`; the rest 1.
    pub fn bus_factor(self, ranks: u64) -> f64 {
        let ranks = ranks as f64;
        match self {
            Collective::AllReduce => 2.0 * (ranks - 1.0) / ranks,
            Collective::AllGather
            | Collective::ReduceScatter
            | Collective::AllToAll
            | Collective::AllToAllV
            | Collective::Gather
            | Collective::Scatter => (ranks - 1.0) / ranks,
            Collective::Broadcast | Collective::Reduce | Collective::SendRecv => 1.0,
        }
    }

    /// Whether elements are combined, so that the dtype matters beyond its size.
    pub const fn reduces(self) -> bool {
        matches!(self, Collective::AllReduce | Collective::ReduceScatter | Collective::Reduce)
    }
}

impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Our names with `_` or `-`, and the spellings of nccl-tests and PyTorch (`alltoall`,
/// `AllReduce`, `all_gather_base`, `sendrecv`).
impl FromStr for Collective {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        // Our own names first: this runs once per row of a batch and must not allocate.
        if let Some(exact) = Collective::ALL.into_iter().find(|known| known.name() == text) {
            return Ok(exact);
        }
        let plain: String =
            text.chars().filter(char::is_ascii_alphabetic).collect::<String>().to_lowercase();
        let plain = plain.strip_suffix("base").unwrap_or(&plain);
        Collective::ALL
            .into_iter()
            .find(|collective| collective.name().replace('_', "") == plain)
            .ok_or_else(|| {
                nearest::unknown("collective", text, Collective::ALL.map(Collective::name))
            })
    }
}

/// A collective of a given size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CollectivePoint {
    /// The collective.
    pub collective: Collective,
    /// Element type.
    pub dtype: Dtype,
    /// Participating devices.
    pub ranks: u64,
    /// Nodes the ranks are spread over.
    pub nodes: u64,
    /// Links between the ranks.
    pub links: Links,
    /// Size as nccl-tests counts `size`: the larger of a rank's send and receive buffer.
    pub bytes: u64,
    /// What the rank that sends most sends, in percent of what a rank sends on average. [`EVEN`]
    /// for every collective but all-to-all-v, where `bytes` is what a rank sends on average: each
    /// rank sends equal parts to all ranks, so that all receive `bytes`, as where the ranks hold
    /// embedding tables of different width.
    pub imbalance: u64,
}

/// The imbalance of ranks that all send as much.
pub const EVEN: u64 = 100;

impl CollectivePoint {
    pub(super) fn variant(&self) -> VariantName {
        let mut name = VariantName::join(&[self.collective.name(), self.dtype.name()]);
        if self.imbalance != EVEN {
            name.push(&format!("/{}", self.imbalance));
        }
        name
    }

    pub(super) fn parameter_names(&self) -> [&'static str; 3] {
        ["ranks", "nodes", "bytes"]
    }

    pub(super) fn parameters(&self) -> Parameters {
        Parameters::new(&[self.ranks, self.nodes, self.bytes])
    }

    pub(super) fn axis(&self) -> usize {
        2
    }

    /// Bytes that cross one rank's link, by the bus factor.
    pub(super) fn work(&self) -> Work {
        let bytes = self.bytes as f64 * self.collective.bus_factor(self.ranks);
        let flops = if self.collective.reduces() { bytes / self.dtype.size() as f64 } else { 0.0 };
        Work { flops, bytes_read: bytes, bytes_written: bytes }
    }

    pub(super) fn check(&self) -> Result<(), PointError> {
        at_least_one(&[("nodes", self.nodes), ("bytes", self.bytes)])?;
        if self.ranks < 2 {
            let ranks = self.ranks;
            return Err(PointError::Inconsistent(format!(
                "a collective needs at least 2 ranks, not {ranks}"
            )));
        }
        self.check_imbalance()?;
        if self.nodes > self.ranks {
            let (ranks, nodes) = (self.ranks, self.nodes);
            return Err(PointError::Inconsistent(format!(
                "{ranks} ranks cannot spread over {nodes} nodes"
            )));
        }
        if !self.bytes.is_multiple_of(self.dtype.size()) {
            let (bytes, dtype) = (self.bytes, self.dtype);
            return Err(PointError::Inconsistent(format!(
                "{bytes} bytes are not a whole number of {dtype} elements"
            )));
        }
        if self.bytes > 1 << 50 {
            let bytes = Bytes::new(self.bytes);
            return Err(PointError::Inconsistent(format!(
                "`bytes` is {bytes}, and no collective has over 1 PiB"
            )));
        }
        Ok(())
    }

    fn check_imbalance(&self) -> Result<(), PointError> {
        let CollectivePoint { collective, ranks, imbalance, .. } = *self;
        if imbalance != EVEN && collective != Collective::AllToAllV {
            return Err(PointError::Inconsistent(format!(
                "`imbalance` is {imbalance} %, and the ranks of {collective} all send as much"
            )));
        }
        let most = ranks.saturating_mul(EVEN);
        if !(EVEN..=most).contains(&imbalance) {
            return Err(PointError::Inconsistent(format!(
                "`imbalance` is {imbalance} %; with {ranks} ranks it is {EVEN} to {most} %"
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_may_send_unequal_shares_in_an_all_to_all_v_alone() {
        let point = |collective, imbalance| CollectivePoint {
            collective,
            dtype: Dtype::F16,
            ranks: 4,
            nodes: 1,
            links: Links::Unstated,
            bytes: 1024,
            imbalance,
        };
        let skewed = point(Collective::AllToAllV, 250);
        assert_eq!(skewed.check(), Ok(()));
        assert_eq!(skewed.variant().as_str(), "all_to_all_v/f16/250");
        assert_eq!(point(Collective::AllToAllV, EVEN).variant().as_str(), "all_to_all_v/f16");
        for (collective, imbalance, words) in [
            (Collective::AllReduce, 250, "the ranks of all_reduce all send as much"),
            (Collective::AllToAllV, 99, "with 4 ranks it is 100 to 400 %"),
            (Collective::AllToAllV, 401, "with 4 ranks it is 100 to 400 %"),
        ] {
            let error = point(collective, imbalance).check().unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn spellings_of_other_tools_are_read() {
        for (text, collective) in [
            ("all-reduce", Collective::AllReduce),
            ("AllReduce", Collective::AllReduce),
            ("alltoall", Collective::AllToAll),
            ("all_to_allv", Collective::AllToAllV),
            ("all_gather_base", Collective::AllGather),
            ("sendrecv", Collective::SendRecv),
        ] {
            assert_eq!(text.parse(), Ok(collective), "{text}");
        }
        let error = "all-reduse".parse::<Collective>().unwrap_err();
        assert_eq!(error.nearest.as_deref(), Some("all_reduce"));
    }
}
