//! What NCCL's calls answer, as sentences.

use std::fmt;

use super::bindings::ncclResult_t;

/// An answer of NCCL. A number, because newer libraries answer what this program does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Code(pub u32);

impl Code {
    /// Done.
    pub const SUCCESS: Code = Code(ncclResult_t::ncclSuccess.0);
    /// Neither done nor failed: to be asked again.
    pub const IN_PROGRESS: Code = Code(ncclResult_t::ncclInProgress.0);

    /// Its name in nccl.h, if it is known.
    pub const fn name(self) -> Option<&'static str> {
        Some(match ncclResult_t(self.0) {
            ncclResult_t::ncclSuccess => "ncclSuccess",
            ncclResult_t::ncclUnhandledCudaError => "ncclUnhandledCudaError",
            ncclResult_t::ncclSystemError => "ncclSystemError",
            ncclResult_t::ncclInternalError => "ncclInternalError",
            ncclResult_t::ncclInvalidArgument => "ncclInvalidArgument",
            ncclResult_t::ncclInvalidUsage => "ncclInvalidUsage",
            ncclResult_t::ncclRemoteError => "ncclRemoteError",
            ncclResult_t::ncclInProgress => "ncclInProgress",
            ncclResult_t::ncclTimeout => "ncclTimeout",
            _ => return None,
        })
    }

    /// What it means.
    pub const fn sentence(self) -> &'static str {
        match ncclResult_t(self.0) {
            ncclResult_t::ncclSuccess => "nothing is wrong",
            ncclResult_t::ncclUnhandledCudaError => "a call of CUDA failed inside NCCL",
            ncclResult_t::ncclSystemError => "a call of the operating system failed inside NCCL",
            ncclResult_t::ncclInternalError => "NCCL failed an inner check",
            ncclResult_t::ncclInvalidArgument => "NCCL refused an argument",
            ncclResult_t::ncclInvalidUsage => "NCCL was used in a way it does not allow",
            ncclResult_t::ncclRemoteError => "another rank or the network to it failed",
            ncclResult_t::ncclInProgress => "the call is still in progress",
            ncclResult_t::ncclTimeout => "NCCL gave up waiting",
            _ => "the library answered with a code that is not known here",
        }
    }

    /// What to do about it.
    pub const fn hint(self) -> &'static str {
        match ncclResult_t(self.0) {
            ncclResult_t::ncclUnhandledCudaError => {
                "check that the driver sees the GPU and is new enough for this NCCL \
                 (`calibrate doctor`)"
            }
            ncclResult_t::ncclSystemError => {
                "shared memory, locked memory and open files may be limited: see `df /dev/shm` \
                 and `ulimit -a`; NCCL_DEBUG=WARN names the call"
            }
            ncclResult_t::ncclInvalidUsage => {
                "two ranks on one GPU, or ranks with different versions of NCCL, are the usual \
                 causes; NCCL_DEBUG=WARN tells"
            }
            ncclResult_t::ncclRemoteError | ncclResult_t::ncclTimeout => {
                "look at the other ranks first; NCCL_SOCKET_IFNAME chooses the network interface"
            }
            _ => "NCCL_DEBUG=WARN makes the library say more",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Code(number) = self;
        match self.name() {
            Some(name) => write!(f, "{} ({name})", self.sentence()),
            None => write!(f, "{} ({number})", self.sentence()),
        }
    }
}

impl From<ncclResult_t> for Code {
    fn from(result: ncclResult_t) -> Self {
        Code(result.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_codes_have_names_and_unknown_ones_their_number() {
        for number in 0..=8 {
            assert!(Code(number).to_string().contains("(nccl"), "{number}");
            assert!(!Code(number).hint().is_empty());
        }
        for number in [9, 42, u32::MAX] {
            let text = Code(number).to_string();
            assert!(text.ends_with(&format!("not known here ({number})")), "{text}");
        }
    }
}
