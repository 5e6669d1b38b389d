//! What the processes of a job share, and how they prove to each other that they do.
//!
//! The token itself is never sent: each side sends a fresh number, and the other answers with a
//! hash over that number and the token. Without KERNELGAUGE_TOKEN it is made of what the launcher
//! says of the job, which keeps jobs apart but keeps nobody out who knows that; with it, others
//! cannot take part.

use std::fs::File;
use std::io::{self, Read as _};

use sha2::{Digest as _, Sha256};

/// The variable of the environment that holds it.
pub const VARIABLE: &str = "KERNELGAUGE_TOKEN";

/// Bytes of a fresh number.
const FRESH: usize = 16;

/// A fresh number from the system, in hexadecimal digits.
///
/// # Errors
/// What the system says.
pub fn fresh() -> io::Result<String> {
    let mut bytes = [0; FRESH];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(hexadecimal(&bytes))
}

/// The proof of `who` (a role and what it claims) over the other side's fresh number.
pub fn proof(token: &str, fresh: &str, who: &str) -> String {
    // Each part ends with a byte that is in no text, so that no two lists of parts are alike.
    let parts = ["kernelgauge ranks 1", token, fresh, who].map(|part| [part.as_bytes(), &[0xff]]);
    hexadecimal(&Sha256::digest(parts.as_flattened().concat()))
}

/// A number that follows from `text`.
pub fn number_of(text: &str) -> u16 {
    let digest = Sha256::digest(text.as_bytes());
    u16::from_be_bytes([digest[0], digest[1]])
}

/// The variable that makes a process say that it is on another node, so that several nodes can be
/// rehearsed on one. For tests: what such a run measures is not what several nodes take.
pub const NODE: &str = "KERNELGAUGE_REHEARSED_NODE";

/// A name for this node that tells it from others and gives nothing away: a hash of its name and
/// of when it was started.
pub fn node() -> String {
    node_of(&std::env::var(NODE).unwrap_or_default())
}

fn node_of(rehearsed: &str) -> String {
    let name = rustix::system::uname().nodename().to_bytes().to_vec();
    let started = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    hexadecimal(&Sha256::digest([&name, &started, rehearsed.as_bytes()].concat())[..8])
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_depends_on_every_part_of_it() {
        let usual = proof("token", "1f", "rank 1 of 2");
        assert_eq!(usual, proof("token", "1f", "rank 1 of 2"));
        assert!(!usual.contains("token") && usual.len() == 64);
        for other in [
            proof("tokem", "1f", "rank 1 of 2"),
            proof("token", "1e", "rank 1 of 2"),
            proof("token", "1f", "rank 0 of 2"),
            proof("token1", "f", "rank 1 of 2"),
        ] {
            assert_ne!(usual, other);
        }
        assert_ne!(fresh().unwrap(), fresh().unwrap());
        assert_eq!((node(), node().len()), (node(), 16));
        assert_ne!(node_of("one"), node_of("two"));
    }
}
