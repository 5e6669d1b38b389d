//! What the operating system says about the processor and its memory.
//!
//! Read from /proc and /sys, so on other systems than Linux most facts are missing; a missing
//! fact is left out, never guessed. Nothing here names the host, its user or a serial number.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use kernelgauge_data::Environment;

/// Facts that do not change while the process runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Name of the processor model.
    pub model: Option<String>,
    /// Processor cores, hardware threads of one core counted once.
    pub cores: Option<u32>,
    /// Whether a hypervisor is below.
    pub virtual_machine: bool,
    /// Bytes of the data or unified cache of each level, as one core sees it.
    pub caches: BTreeMap<u32, u64>,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Frequency governor of the first core.
    pub governor: Option<String>,
    /// Release of the kernel.
    pub kernel_release: Option<String>,
    /// Policy of transparent huge pages.
    pub huge_pages: Option<String>,
}

impl Facts {
    /// Reads what there is below `root`, which is `/` outside of tests.
    pub fn read(root: &Path) -> Self {
        let text = |path: &str| {
            fs::read_to_string(root.join(path)).ok().map(|text| text.trim().to_owned())
        };
        let processor = text("proc/cpuinfo").unwrap_or_default();
        let pages = text("sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
        Facts {
            model: processor_field(&processor, "model name").map(str::to_owned),
            cores: cores(&processor),
            virtual_machine: processor_field(&processor, "flags")
                .is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor")),
            caches: caches(&root.join("sys/devices/system/cpu/cpu0/cache")),
            memory_bytes: text("proc/meminfo")
                .and_then(|memory| meminfo_bytes(&memory, "MemTotal")),
            governor: text("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            kernel_release: text("proc/sys/kernel/osrelease"),
            huge_pages: bracketed(&pages).map(str::to_owned),
        }
    }

    /// Bytes of the last cache.
    pub fn last_cache(&self) -> Option<u64> {
        self.caches.last_key_value().map(|(_, bytes)| *bytes)
    }

    /// Records what is known.
    pub fn record(&self, environment: &mut Environment) {
        let mut set = |fact: &str, value: Option<String>| {
            if let Some(value) = value {
                environment.set(fact, value);
            }
        };
        set("cpu_model", self.model.clone());
        set("cores", self.cores.map(|cores| cores.to_string()));
        set("virtual_machine", Some(self.virtual_machine.to_string()));
        set("memory_bytes", self.memory_bytes.map(|bytes| bytes.to_string()));
        set("cpu_governor", self.governor.clone());
        set("kernel_release", self.kernel_release.clone());
        set("transparent_huge_pages", self.huge_pages.clone());
        for (level, bytes) in &self.caches {
            set(&format!("l{level}_cache_bytes"), Some(bytes.to_string()));
        }
    }
}

/// Memory in bytes that a process may still use: what the kernel says is available, and what
/// the control group leaves; none where neither is known.
pub fn available_memory(root: &Path) -> Option<u64> {
    let number = |path: &str| fs::read_to_string(root.join(path)).ok()?.trim().parse::<u64>().ok();
    let available = fs::read_to_string(root.join("proc/meminfo"))
        .ok()
        .and_then(|memory| meminfo_bytes(&memory, "MemAvailable"));
    let limit = number("sys/fs/cgroup/memory.max")
        .zip(number("sys/fs/cgroup/memory.current"))
        .map(|(most, used)| most.saturating_sub(used));
    available.into_iter().chain(limit).min()
}

/// The first value of `name` in the text of /proc/cpuinfo.
fn processor_field<'text>(text: &'text str, name: &str) -> Option<&'text str> {
    text.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        (found.trim() == name && !value.trim().is_empty()).then(|| value.trim())
    })
}

/// Distinct pairs of socket and core in the text of /proc/cpuinfo.
fn cores(text: &str) -> Option<u32> {
    let mut seen: Vec<(&str, &str)> = text
        .split("\n\n")
        .filter_map(|processor| {
            let core = processor_field(processor, "core id")?;
            Some((processor_field(processor, "physical id").unwrap_or("0"), core))
        })
        .collect();
    seen.sort_unstable();
    seen.dedup();
    (!seen.is_empty()).then_some(seen.len() as u32)
}

/// Data and unified caches by level below the `cache` folder of one core.
fn caches(folder: &Path) -> BTreeMap<u32, u64> {
    let text = |index: u32, file: &str| {
        let path = folder.join(format!("index{index}")).join(file);
        fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
    };
    (0..8)
        .filter(|index| text(*index, "type").is_some_and(|kind| kind != "Instruction"))
        .filter_map(|index| {
            let level = text(index, "level")?.parse().ok()?;
            Some((level, kibibytes(&text(index, "size")?)?))
        })
        .collect()
}

/// `307200K` in bytes.
fn kibibytes(text: &str) -> Option<u64> {
    text.strip_suffix('K')?.parse::<u64>().ok()?.checked_mul(1024)
}

/// A line of /proc/meminfo, which counts in kB of 1024 bytes.
fn meminfo_bytes(text: &str, name: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    value.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The chosen word of `always [madvise] never`.
fn bracketed(text: &str) -> Option<&str> {
    Some(text.split_once('[')?.1.split_once(']')?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROCESSOR: &str = "processor\t: 0\nmodel name\t: Some CPU @ 2.10GHz\nphysical id\t: 0\n\
        core id\t\t: 0\nflags\t\t: fpu avx2 hypervisor\n\nprocessor\t: 1\nmodel name\t: Some CPU\n\
        physical id\t: 0\ncore id\t\t: 0\nflags\t\t: fpu\n\nprocessor\t: 2\nphysical id\t: 1\n\
        core id\t\t: 0\n";

    #[test]
    fn hardware_threads_of_a_core_count_once() {
        assert_eq!(cores(PROCESSOR), Some(2));
        assert_eq!(cores("processor : 0\n"), None);
        assert_eq!(processor_field(PROCESSOR, "model name"), Some("Some CPU @ 2.10GHz"));
    }

    #[test]
    fn sizes_are_read_in_their_units() {
        assert_eq!(kibibytes("307200K"), Some(307_200 << 10));
        assert_eq!(kibibytes("2M"), None);
        let memory = "MemTotal:       24689152 kB\nMemAvailable:   20000000 kB\n";
        assert_eq!(meminfo_bytes(memory, "MemAvailable"), Some(20_480_000_000));
        assert_eq!(meminfo_bytes(memory, "Mem"), None);
        assert_eq!(bracketed("always [madvise] never"), Some("madvise"));
    }

    #[test]
    fn a_system_without_these_files_has_no_facts() {
        let nowhere = Path::new("/nonexistent");
        assert_eq!(Facts::read(nowhere), Facts::default());
        assert_eq!(available_memory(nowhere), None);
        let mut environment = Environment::default();
        Facts::default().record(&mut environment);
        assert_eq!(environment.facts().count(), 1);
    }
}
