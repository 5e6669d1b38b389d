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
    let mut pairs: BTreeMap<Links, Vec<String>> = BTreeMap::new();
    for (second, other) in handles.iter().enumerate() {
        for (first, one) in handles.iter().enumerate().take(second) {
            let kind = asked.kind(*one, *other);
            pairs.entry(kind).or_default().push(format!("{first}-{second}"));
        }
    }
    summed_up(pairs)
}

fn summed_up(pairs: BTreeMap<Links, Vec<String>>) -> (Links, Option<String>) {
    let best = [Links::Nvswitch, Links::Nvlink, Links::Pcie];
    let kind = best.into_iter().find(|kind| pairs.contains_key(kind)).unwrap_or_default();
    if kind == Links::Unstated {
        return (kind, None);
    }
    if pairs.len() == 1 {
        return (kind, Some(format!("every pair by {kind}")));
    }
    let words = pairs.iter().map(|(kind, pairs)| format!("{kind}: {}", pairs.join(" ")));
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

    fn kind(&self, one: Handle, other: Handle) -> Links {
        let mut answer = c_uint::MAX;
        // SAFETY: the handles came from the library, and the pointer is valid for the call.
        let direct = self.peer.is_some_and(|peer| unsafe {
            peer(one.raw(), other.raw(), NVLINK, &raw mut answer) == DONE
        });
        if direct && answer == OK {
            return if self.has_switch(one) { Links::Nvswitch } else { Links::Nvlink };
        }
        let mut level = 0;
        // SAFETY: as above.
        let known = self.ancestor.is_some_and(|ancestor| unsafe {
            ancestor(one.raw(), other.raw(), &raw mut level) == DONE
        });
        if known { Links::Pcie } else { Links::Unstated }
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
        let pairs = |of: &[(Links, &[&str])]| {
            let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            summed_up(of.iter().map(|(kind, names)| (*kind, owned(names))).collect())
        };
        assert_eq!(pairs(&[]), (Links::Unstated, None));
        let one = pairs(&[(Links::Pcie, &["0-1", "0-2", "1-2"])]);
        assert_eq!(one, (Links::Pcie, Some("every pair by pcie".to_owned())));
        let mixed = pairs(&[(Links::Nvlink, &["0-1"]), (Links::Pcie, &["0-2", "1-2"])]);
        assert_eq!(mixed, (Links::Nvlink, Some("nvlink: 0-1; pcie: 0-2 1-2".to_owned())));
    }
}
