//! The processor: threads, memory, caches, governor, other load, timer.

use std::fs;

use kernelgauge_cuda::Device as _;
use kernelgauge_cuda::host::HostDevice;
use kernelgauge_data::{Bytes, Environment, Nanos};

use super::Finding;

/// Less memory than this and the larger points are skipped.
const ENOUGH_MEMORY: Bytes = Bytes::new(2 << 30);
/// Samples are made long enough for any timer, but beyond this cost small points take long.
const CHEAP_TIMER: Nanos = Nanos::new(1_000);
/// Share of the threads that others may use without being noticed in a median.
const QUIET: f64 = 0.1;

/// What is found about the processor.
pub fn findings() -> Vec<Finding> {
    let device = match HostDevice::new(None) {
        Ok(device) => device,
        Err(error) => {
            let remedy = "allow this process at least one thread";
            return vec![Finding::fail("processor", error.to_string(), remedy)];
        }
    };
    let environment = device.environment();
    let fact = |name: &str| environment.get(name);
    let threads = fact("threads").unwrap_or("1");
    let vectors = fact("vectors").unwrap_or("unknown vectors");
    let model = device.machine().device;
    let mut findings =
        vec![Finding::ok("processor", format!("{model}, {threads} threads, {vectors}"))];
    findings.push(memory(device.free_memory()));
    findings.push(Finding::ok("caches", caches(&environment)));
    findings.push(governor(fact("cpu_governor"), fact("virtual_machine") == Some("true")));
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    findings.push(other_load(&load, threads.parse().unwrap_or(1.0)));
    let timer = device.timer();
    findings.push(clock(timer.resolution, timer.cost));
    findings
}

fn memory(free: Bytes) -> Finding {
    if free >= ENOUGH_MEMORY {
        return Finding::ok("memory", format!("{free} free for operands"));
    }
    Finding::warn(
        "memory",
        format!("{free} free for operands: points that need more are skipped"),
        "free some memory; 2 GiB are enough for every point",
    )
}

/// `l1 32 KiB, l2 2 MiB, l3 300 MiB; cold operands rotate through 600 MiB`
fn caches(environment: &Environment) -> String {
    let size = |text: &str| text.parse().map(|bytes| Bytes::new(bytes).to_string()).ok();
    let mut caches = Vec::new();
    let mut rotation = None;
    for (fact, value) in environment.facts() {
        if let Some(level) = fact.strip_suffix("_cache_bytes") {
            caches.extend(size(value).map(|size| format!("{level} {size}")));
        } else if fact == "cold_rotation_bytes" {
            rotation = size(value);
        }
    }
    if caches.is_empty() {
        caches.push("the system does not say".to_owned());
    }
    let rotation = rotation.map(|size| format!("; cold operands rotate through {size}"));
    format!("{}{}", caches.join(", "), rotation.unwrap_or_default())
}

fn governor(governor: Option<&str>, virtual_machine: bool) -> Finding {
    match governor {
        Some("performance") => Finding::ok("governor", "performance"),
        Some(other) => Finding::warn(
            "governor",
            format!("{other}: the clock follows the load, and short points may run at a low one"),
            "`cpupower frequency-set -g performance` while measuring",
        ),
        None if virtual_machine => Finding::ok("governor", "not visible from this virtual machine"),
        None => Finding::ok("governor", "the system does not say"),
    }
}

/// `text` is /proc/loadavg: the first number is the mean length of the run queue of a minute.
fn other_load(text: &str, threads: f64) -> Finding {
    let minute = text.split(' ').next().and_then(|number| number.parse::<f64>().ok());
    match minute {
        None => Finding::ok("load", "the system does not say"),
        Some(load) if load <= QUIET * threads => Finding::ok("load", format!("{load}")),
        Some(load) => Finding::warn(
            "load",
            format!("{load} on {threads} threads: other work makes samples noisy and medians late"),
            "stop it, or measure later; points measured while the machine moved are flagged",
        ),
    }
}

fn clock(resolution: Nanos, cost: Nanos) -> Finding {
    let found = format!("resolves {resolution}, costs {cost} a timing");
    if cost <= CHEAP_TIMER {
        return Finding::ok("timer", found);
    }
    Finding::warn(
        "timer",
        format!("{found}: each sample needs many executions"),
        "check that the clock source is the processor's own (`tsc` on x86-64)",
    )
}

#[cfg(test)]
mod tests {
    use super::super::Severity;
    use super::*;

    #[test]
    fn what_disturbs_is_a_warning() {
        let severity = |finding: Finding| finding.severity;
        assert_eq!(severity(other_load("0.05 0.4 0.5 1/99 1", 2.0)), Severity::Ok);
        assert_eq!(severity(other_load("1.90 0.4 0.5 1/99 1", 2.0)), Severity::Warn);
        assert_eq!(severity(other_load("", 2.0)), Severity::Ok);
        assert_eq!(severity(governor(Some("powersave"), false)), Severity::Warn);
        assert_eq!(severity(governor(None, true)), Severity::Ok);
        assert_eq!(severity(memory(Bytes::new(1 << 29))), Severity::Warn);
        assert_eq!(severity(clock(Nanos::new(1), Nanos::new(40))), Severity::Ok);
        assert_eq!(severity(clock(Nanos::new(70), Nanos::new(4_000))), Severity::Warn);
    }

    #[test]
    fn caches_are_named_with_their_sizes() {
        let mut environment = Environment::default();
        environment.set("l2_cache_bytes", "2097152");
        environment.set("l3_cache_bytes", "314572800");
        environment.set("cold_rotation_bytes", "629145600");
        assert_eq!(
            caches(&environment),
            "l2 2 MiB, l3 300 MiB; cold operands rotate through 600 MiB"
        );
    }
}
