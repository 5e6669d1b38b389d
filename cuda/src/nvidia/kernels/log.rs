//! What the assembler says about each kernel (`--ptxas-options=-v`): registers, spills, shared
//! memory.
//!
//! Lines have looked like this for many versions, with differing filling between the parts:
//!
//! ```text
//! ptxas info    : Compiling entry function 'add_f32' for 'sm_90'
//! ptxas info    : Function properties for add_f32
//! ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
//! ptxas info    : Used 32 registers, used 1 barriers, 1024 bytes smem, 368 bytes cmem[0]
//! ```

/// What one kernel takes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Usage {
    /// The kernel.
    pub entry: String,
    /// Registers per thread.
    pub registers: u32,
    /// Bytes per thread that did not fit in registers: stored, and loaded.
    pub spills: [u32; 2],
    /// Bytes of shared memory per block.
    pub shared: u32,
}

/// The kernels of a log, in its order; lines it does not know are passed over.
pub fn parse(log: &str) -> Vec<Usage> {
    let mut found: Vec<Usage> = Vec::new();
    for line in log.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            let entry = rest.split('\'').next().unwrap_or_default().to_owned();
            found.push(Usage { entry, ..Usage::default() });
            continue;
        }
        let Some(usage) = found.last_mut() else { continue };
        if let Some(stores) = before(line, "bytes spill stores") {
            usage.spills = [stores, before(line, "bytes spill loads").unwrap_or(0)];
        }
        if let Some(registers) = before(line, "registers") {
            usage.registers = registers;
            usage.shared = before(line, "bytes smem").unwrap_or(0);
        }
    }
    found
}

/// The number in front of `words`.
fn before(line: &str, words: &str) -> Option<u32> {
    let (left, _) = line.split_once(words)?;
    left.split_whitespace().next_back()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_shapes_of_lines_are_read() {
        let log = "\
nvrtc: warning: Architectures prior to '<compute/sm>_75' are deprecated
ptxas info    : 24 bytes gmem
ptxas info    : Compiling entry function 'a' for 'sm_90'
ptxas info    : Function properties for a
ptxas         .     480 bytes stack frame, 964 bytes spill stores, 1508 bytes spill loads
ptxas info    : Used 80 registers, used 0 barriers, 480 bytes cumulative stack size
ptxas info    : Compile time = 271.267 ms
ptxas info    : Compiling entry function 'b' for 'sm_70'
ptxas info    : Function properties for b
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 4224 bytes smem, 420 bytes cmem[0]
";
        let usage = |entry: &str, registers, spills, shared| Usage {
            entry: entry.to_owned(),
            registers,
            spills,
            shared,
        };
        assert_eq!(parse(log), [usage("a", 80, [964, 1508], 0), usage("b", 32, [0, 0], 4224)]);
    }

    #[test]
    fn damaged_logs_yield_what_they_hold() {
        for log in ["", "Used registers", "Compiling entry function '", "ptxas info : Used 3 regi"]
        {
            assert!(parse(log).iter().all(|usage| usage.registers == 0), "{log}");
        }
        let cut = parse("Compiling entry function 'a' for\nUsed x registers");
        assert_eq!(cut, [Usage { entry: "a".to_owned(), ..Usage::default() }]);
    }
}
