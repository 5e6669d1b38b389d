//! How the GPUs of a run are linked, as the management library states it.
//!
//! Each function is looked up on its own and each is optional, as in `management`. What is
//! recorded is in words: no PCI address is.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_uint, c_void};

use kernelgauge_data::Links;

use super::facts::Facts;
use super::library::Library;
use super::management::Handle;

type Raw = *mut c_void;
type OfPair = unsafe extern "C" fn(Raw, Raw, *mut c_uint) -> c_int;
type OfPairBy = unsafe extern "C" fn(Raw, Raw, c_uint, *mut c_uint) -> c_int;
type OfLink = unsafe extern "C" fn(Raw, c_uint, *mut c_uint) -> c_int;

/// `NVML_SUCCESS`, `NVML_P2P_STATUS_OK`.
const DONE: c_int = 0;
const OK: c_uint = 0;
/// `NVML_P2P_CAPS_INDEX_NVLINK`.
const NVLINK: c_uint = 2;
/// `NVML_NVLINK_DEVICE_TYPE_SWITCH`.
const SWITCH: c_uint = 2;
/// `NVML_NVLINK_MAX_LINKS` of nvml.h in CUDA 12 is 18; more are asked for than there are.
const MOST_LINKS: c_uint = 36;

/// The functions that tell, where they are.
struct Asked {
    peer: Option<OfPairBy>,
    ancestor: Option<OfPair>,
    state: Option<OfLink>,
    remote: Option<OfLink>,
}

/// The kind of the links, and every pair in words; unstated where nothing tells.
///
/// Where pairs differ, the kind is the best there is: NCCL takes routes of that kind where it can.
pub fn between(gpus: &[Facts]) -> (Links, Option<String>) {
    let handles: Vec<Handle> =
        gpus.iter().filter_map(|gpu| gpu.management.map(|(_, handle)| handle)).collect();
    let Some(asked) = Asked::open().filter(|_| handles.len() == gpus.len()) else {
        return (Links::Unstated, None);
    };
    let mut pairs: Pairs = BTreeMap::new();
    for (second, other) in handles.iter().enumerate() {
        for (first, one) in handles.iter().enumerate().take(second) {
            let class = asked.class(*one, *other);
            pairs.entry(class).or_default().push(format!("{first}-{second}"));
        }
    }
    summed_up(pairs)
}

/// Pairs by what links them: the kind, and further words where there are several of a kind.
type Pairs = BTreeMap<Class, Vec<String>>;
type Class = (Links, &'static str);

/// What lies between two GPUs on a bus: the levels of `nvmlGpuTopologyLevel_t` (nvml.h), and
/// words for one that is passed through.
const LEVELS: [(c_uint, &str); 3] =
    [(20, " through switches"), (40, " through a processor"), (c_uint::MAX, " between processors")];

/// The first pair of every class but that of the first two GPUs, from the words of [`between`],
/// in the order of their numbers.
pub fn first_pairs(words: &str) -> Vec<(u32, u32)> {
    let pair = |text: &str| {
        let (from, to) = text.split_once('-')?;
        Some((from.parse().ok()?, to.parse().ok()?))
    };
    let first = |class: &str| class.split_once(": ")?.1.split(' ').filter_map(pair).min();
    let mut pairs: Vec<(u32, u32)> = words.split("; ").filter_map(first).collect();
    pairs.sort_unstable();
    pairs.retain(|pair| *pair != (0, 1));
    pairs
}

fn summed_up(pairs: Pairs) -> (Links, Option<String>) {
    let best = [Links::Nvswitch, Links::Nvlink, Links::Pcie];
    let has = |kind: &Links| pairs.keys().any(|(each, _)| each == kind);
    let kind = best.into_iter().find(has).unwrap_or_default();
    if kind == Links::Unstated {
        return (kind, None);
    }
    if let (1, Some((_, more))) = (pairs.len(), pairs.keys().next()) {
        return (kind, Some(format!("every pair by {kind}{more}")));
    }
    let words =
        pairs.iter().map(|((kind, more), pairs)| format!("{kind}{more}: {}", pairs.join(" ")));
    (kind, Some(words.collect::<Vec<_>>().join("; ")))
}

impl Asked {
    fn open() -> Option<Self> {
        let library = Library::Management.open().ok()?;
        // SAFETY: the signatures are those of nvml.h; its enumerations are unsigned numbers.
        unsafe {
            Some(Asked {
                peer: library.function("nvmlDeviceGetP2PStatus"),
                ancestor: library.function("nvmlDeviceGetTopologyCommonAncestor"),
                state: library.function("nvmlDeviceGetNvLinkState"),
                remote: library.function("nvmlDeviceGetNvLinkRemoteDeviceType"),
            })
        }
    }

    fn class(&self, one: Handle, other: Handle) -> Class {
        let mut answer = c_uint::MAX;
        // SAFETY: the handles came from the library, and the pointer is valid for the call.
        let direct = self.peer.is_some_and(|peer| unsafe {
            peer(one.raw(), other.raw(), NVLINK, &raw mut answer) == DONE
        });
        if direct && answer == OK {
            return (if self.has_switch(one) { Links::Nvswitch } else { Links::Nvlink }, "");
        }
        let mut level = 0;
        // SAFETY: as above.
        let known = self.ancestor.is_some_and(|ancestor| unsafe {
            ancestor(one.raw(), other.raw(), &raw mut level) == DONE
        });
        let passed = LEVELS.iter().find(|(limit, _)| level <= *limit).filter(|_| known);
        passed.map_or((Links::Unstated, ""), |(_, more)| (Links::Pcie, *more))
    }

    /// Whether an active link of the GPU leads to a switch.
    fn has_switch(&self, gpu: Handle) -> bool {
        let (Some(state), Some(remote)) = (self.state, self.remote) else { return false };
        (0..MOST_LINKS).any(|link| {
            let (mut active, mut kind) = (0, 0);
            // SAFETY: the handle came from the library, which refuses links that it does not
            // have, and the pointers are valid for the calls.
            unsafe {
                state(gpu.raw(), link, &raw mut active) == DONE
                    && active == 1
                    && remote(gpu.raw(), link, &raw mut kind) == DONE
                    && kind == SWITCH
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_told_in_words_and_the_best_kind_counts() {
        let pairs = |of: &[(Class, &[&str])]| {
            let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            summed_up(of.iter().map(|(class, names)| (*class, owned(names))).collect())
        };
        assert_eq!(pairs(&[]), (Links::Unstated, None));
        let one = pairs(&[((Links::Pcie, " through switches"), &["0-1", "0-2", "1-2"])]);
        assert_eq!(one, (Links::Pcie, Some("every pair by pcie through switches".to_owned())));
        let mixed = pairs(&[((Links::Nvlink, ""), &["0-1"]), ((Links::Pcie, ""), &["0-2", "1-2"])]);
        assert_eq!(mixed, (Links::Nvlink, Some("nvlink: 0-1; pcie: 0-2 1-2".to_owned())));
    }

    #[test]
    fn the_words_tell_the_first_pair_of_every_other_class() {
        assert!(first_pairs("every pair by nvswitch").is_empty());
        let islands = "nvlink: 0-1 2-3; pcie between processors: 0-2 1-2 0-3 1-3";
        assert_eq!(first_pairs(islands), [(0, 2)]);
        let apart = "nvlink: 1-2; pcie through switches: 0-1; pcie between processors: 0-2";
        assert_eq!(first_pairs(apart), [(0, 2), (1, 2)]);
        assert!(first_pairs("garbage: x-y; 7").is_empty());
    }
}
