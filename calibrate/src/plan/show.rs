//! The plan as `--plan` prints it: per family the points, memory, time, and why these.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use kernelgauge_cuda::Device;
use kernelgauge_data::{Bytes, Family, Links, Machine, Nanos};
use serde::Serialize;

use super::Plan;
use crate::columns::Columns;
use crate::elapsed;
use crate::reasons;

/// Bytes a point takes in journal and data set together.
const BYTES_PER_POINT: u64 = 900;

/// A plan for one device, summed up.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Overview {
    /// Version of this layout.
    pub schema_version: u32,
    /// The machine's name.
    pub machine: String,
    /// Hash of the whole plan.
    pub plan_hash: String,
    /// Seed of order and operands.
    pub seed: u64,
    /// One line per family.
    pub suites: Vec<Suite>,
    /// Where the run would write.
    pub out: String,
    /// About how much it would write.
    pub bytes_written: u64,
    /// About how many of the points fit into the budget; none without one.
    pub in_budget: Option<usize>,
    /// How much of a recorded workload they are; none where it was not given one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<Planned>,
}

/// How much of a workload is planned.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Planned {
    /// All its calls.
    pub calls: u64,
    /// All its time on devices; 0 where no times were recorded.
    pub device_us: f64,
    /// Calls of what is planned.
    pub planned_calls: u64,
    /// Time of what is planned.
    pub planned_device_us: f64,
    /// For people.
    #[serde(skip)]
    words: String,
}

impl Planned {
    /// Of the points at `selected` that have room on `device`; none without a workload.
    fn of(plan: &Plan, selected: &[usize], device: &dyn Device) -> Option<Self> {
        let workload = plan.workload.as_ref()?;
        let free = device.free_memory();
        let fits = selected.iter().map(|index| &plan.points[*index]);
        let fits = fits.filter(|candidate| candidate.memory_on(device, free).is_ok());
        let part = workload.share(fits.map(|candidate| &candidate.point));
        Some(Planned {
            calls: workload.all.calls,
            device_us: workload.all.device.us(),
            planned_calls: part.calls,
            planned_device_us: part.device.us(),
            words: workload.in_words(part),
        })
    }
}

/// The points of one family.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Suite {
    /// The family.
    pub suite: Family,
    /// Points to measure.
    pub points: usize,
    /// Points the device has no memory or no kernel for.
    pub skipped: usize,
    /// Of those, why the device cannot take them; without those that need more memory.
    pub unsupported: BTreeMap<String, usize>,
    /// Most memory any of them needs.
    pub memory_bytes: u64,
    /// Guessed time of all.
    pub estimate_s: f64,
    /// What they are chosen for.
    pub why: String,
}

impl Overview {
    /// Sums up the points at `selected` for `device`, each sampled for at most `limit`.
    pub fn new(
        plan: &Plan,
        selected: &[usize],
        device: &dyn Device,
        limit: Nanos,
        out: &Path,
    ) -> Self {
        let of_family =
            |family| selected.iter().filter(move |i| plan.points[**i].point.family() == family);
        let suites: Vec<Suite> = Plan::FAMILIES
            .into_iter()
            .map(|family| suite(plan, family, of_family(family), device, limit))
            .filter(|suite| suite.points + suite.skipped > 0)
            .collect();
        let points: usize = suites.iter().map(|suite| suite.points).sum();
        Overview {
            schema_version: 1,
            machine: device.machine().name,
            plan_hash: plan.hash(),
            seed: plan.seed,
            suites,
            out: out.display().to_string(),
            bytes_written: points as u64 * BYTES_PER_POINT,
            in_budget: None,
            workload: Planned::of(plan, selected, device),
        }
    }

    /// The table for people.
    pub fn text(&self, machine: &Machine) -> String {
        let skipped: usize = self.suites.iter().map(|suite| suite.skipped).sum();
        let mut text = format!("machine   {}\n{}", machine_line(machine), self.columns().text());
        let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
        for (why, count) in self.suites.iter().flat_map(|suite| &suite.unsupported) {
            *reasons.entry(why).or_default() += count;
        }
        let mut large = skipped;
        for (why, count) in reasons {
            text.push_str(&format!("{count} more points cannot be measured: {why}\n"));
            large -= count;
        }
        if large > 0 {
            text.push_str(&format!("{large} more points need more memory than this device has\n"));
        }
        if let Some(Planned { words, .. }) = &self.workload {
            text.push_str(&format!("workload  {words}\n"));
        }
        if let Some(fitting) = self.in_budget {
            let points: usize = self.suites.iter().map(|suite| suite.points).sum();
            text.push_str(&format!(
                "about {fitting} of the {points} points fit into the budget, the coarse ones first; \
                 the same command continues\n"
            ));
        }
        text
    }

    /// One row per family, and the total.
    pub fn columns(&self) -> Columns {
        let time = |seconds| elapsed::text(Duration::from_secs_f64(seconds));
        let mut columns = Columns::new(&["suite", "points>", "memory>", "estimate>", "why these"]);
        for suite in &self.suites {
            columns.row([
                suite.suite.to_string(),
                suite.points.to_string(),
                Bytes::new(suite.memory_bytes).to_string(),
                time(suite.estimate_s),
                suite.why.to_owned(),
            ]);
        }
        let written = Bytes::new(self.bytes_written);
        columns.row([
            "total".to_owned(),
            self.suites.iter().map(|suite| suite.points).sum::<usize>().to_string(),
            String::new(),
            time(self.suites.iter().map(|suite| suite.estimate_s).sum()),
            format!("writes about {written} to {}", self.out),
        ]);
        columns
    }
}

/// `host-x86-64: Intel(R) Xeon(R), 2 threads, 23.4 GiB`,
/// `h200-x8: 8 x NVIDIA H200 (nvswitch), 132 multiprocessors, 141 GiB, cuda 13.0, driver 580.65.06`
pub fn machine_line(machine: &Machine) -> String {
    let several = if machine.count > 1 { format!("{} x ", machine.count) } else { String::new() };
    let mut text = format!("{}: {several}{}", machine.name, machine.device);
    if let Some(units) = machine.hardware.units {
        // Every GPU states the version of CUDA, and no processor does.
        let is_gpu = machine.software.contains_key("cuda");
        if machine.count > 1 && machine.links != Links::Unstated {
            text.push_str(&format!(" ({})", machine.links));
        }
        let unit = if is_gpu { "multiprocessor" } else { "thread" };
        text.push_str(&format!(", {units} {unit}{}", if units == 1 { "" } else { "s" }));
    }
    if let Some(memory) = machine.hardware.memory_bytes {
        text.push_str(&format!(", {}", Bytes::new(memory)));
    }
    for (library, version) in &machine.software {
        text.push_str(&format!(", {library} {version}"));
    }
    text
}

/// How many of the points at `selected`, in this order, take `time` by the guess; one that is too
/// long for what is left is passed over.
pub fn fitting(
    plan: &Plan,
    selected: &[usize],
    device: &dyn Device,
    limit: Nanos,
    time: Duration,
) -> usize {
    let (free, mut left) = (device.free_memory(), time.as_secs_f64());
    let possible =
        selected.iter().filter(|index| plan.points[**index].memory_on(device, free).is_ok());
    possible
        .filter(|index| {
            let takes = plan.guessed_whole(**index, limit).seconds();
            let fits = takes <= left;
            left -= if fits { takes } else { 0.0 };
            fits
        })
        .count()
}

fn suite<'p>(
    plan: &'p Plan,
    family: Family,
    indices: impl Iterator<Item = &'p usize>,
    device: &dyn Device,
    limit: Nanos,
) -> Suite {
    let free = device.free_memory();
    let mut suite = Suite {
        suite: family,
        points: 0,
        skipped: 0,
        unsupported: BTreeMap::new(),
        memory_bytes: 0,
        estimate_s: 0.0,
        why: plan.why(family),
    };
    for index in indices {
        let candidate = &plan.points[*index];
        let needs = match candidate.memory_on(device, free) {
            Ok(needs) => needs,
            Err(reason) => {
                suite.skipped += 1;
                if let Some(what) = reasons::skipped(&reason) {
                    *suite.unsupported.entry(what).or_default() += 1;
                }
                continue;
            }
        };
        suite.points += 1;
        suite.memory_bytes = suite.memory_bytes.max(needs.get());
        suite.estimate_s += plan.guessed_whole(*index, limit).seconds();
    }
    suite
}
