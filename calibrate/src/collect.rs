//! Makes the data set of a journal: the last outcome of every point, with the flags that only
//! the whole run can tell.

use kernelgauge_data::{
    DataSet, Environment, Family, FileEntry, Flag, Machine, Manifest, Origin, Record, Run,
    RunStatus,
};

use crate::journal::Contents;
use crate::sweep::sentinel;
use crate::utc;

/// How the measurements of this tool are made, for the manifest.
const METHOD: &str = "median of samples after warm-up until two windows agree; operands random \
                      from the run's seed; order shuffled; each result compared with a plain \
                      reference once; sampling ends when the 95 % interval of the median is \
                      within 1 %, the noise is stable, or time or samples run out";

/// What a data set says of the device and the tool that measured it.
#[derive(Debug, Clone)]
pub struct Provenance {
    /// The machine.
    pub machine: Machine,
    /// Hardware or simulated.
    pub origin: Origin,
    /// Facts that must agree for more measurements to be added.
    pub environment: Environment,
    /// Version of the tool, git revision included.
    pub tool_version: String,
    /// Whether every planned point was attempted.
    pub status: RunStatus,
}

/// The data set of `contents`.
pub fn data_set(contents: &Contents, provenance: &Provenance) -> DataSet {
    let drifted = sentinel::drifted(&contents.entries);
    let records: Vec<Record> = contents
        .records()
        .into_iter()
        .map(|(index, record)| {
            let mut record = record.clone();
            if drifted.contains(&index) && record.time().is_some() {
                record.flags.insert(Flag::Drift);
            }
            record
        })
        .collect();
    let mut manifest = Manifest::new(provenance.machine.clone(), provenance.origin);
    manifest.environment = provenance.environment.clone();
    manifest.run = Some(Run {
        tool_version: provenance.tool_version.clone(),
        seed: contents.header.seed,
        plan_hash: contents.header.plan.clone(),
        started_utc: contents.header.started_utc.clone(),
        finished_utc: utc::now(),
        status: provenance.status,
    });
    manifest.files = Family::ALL.into_iter().filter_map(|family| entry(family, &records)).collect();
    DataSet { manifest, records }
}

/// The provenance of one file; rows and digest are filled in when it is written.
fn entry(family: Family, records: &[Record]) -> Option<FileEntry> {
    let mut kernels: Vec<&str> = records
        .iter()
        .filter(|record| record.point.family() == family)
        .map(|record| record.conditions.backend())
        .collect();
    if kernels.is_empty() {
        return None;
    }
    kernels.retain(|kernel| !kernel.is_empty());
    kernels.sort_unstable();
    kernels.dedup();
    Some(FileEntry {
        name: format!("{family}.csv"),
        source: "measured by this tool".to_owned(),
        software: kernels.join(", "),
        method: METHOD.to_owned(),
        ..FileEntry::default()
    })
}

#[cfg(test)]
mod tests {
    use kernelgauge_data::{
        Conditions, CopyDirection, CopyPoint, Failure, Flags, Measurement, Nanos, Outcome, Point,
    };

    use super::*;
    use crate::journal::{Entry, FORMAT_VERSION, Header};

    fn point(index: usize, outcome: Outcome) -> Entry {
        let direction = CopyDirection::HostToHost;
        let record = Record {
            point: Point::Copy(CopyPoint { direction, pinned: false, bytes: 1 + index as u64 }),
            conditions: Conditions { kernel: "memcpy".to_owned(), ..Conditions::default() },
            outcome,
            flags: Flags::NONE,
        };
        Entry::Point { index, record }
    }

    #[test]
    fn the_last_outcome_counts_and_drift_is_flagged_on_times_only() {
        let measured = |nanos| Outcome::Measured(Measurement::stated(Nanos::new(nanos)));
        let reading = |time| Entry::Sentinel { index: 9, time: Nanos::new(time) };
        let failed = || Outcome::Failed(Failure::BelowTimerResolution);
        let contents = Contents {
            header: Header {
                format_version: FORMAT_VERSION,
                tool_version: String::new(),
                machine: "test".to_owned(),
                plan: "abc".to_owned(),
                seed: 4,
                samples: None,
                started_utc: "2026-11-30T10:26:00Z".to_owned(),
                environment: Environment::default(),
            },
            entries: vec![
                reading(100),
                point(0, failed()),
                point(0, measured(50)),
                reading(100),
                point(1, measured(60)),
                point(2, failed()),
                reading(200),
            ],
            whole_bytes: 0,
            torn: false,
        };
        let machine = Machine {
            name: "test".to_owned(),
            device: "test".to_owned(),
            count: 1,
            links: kernelgauge_data::Links::Unstated,
            software: Default::default(),
            hardware: Default::default(),
        };
        let set = data_set(
            &contents,
            &Provenance {
                machine,
                origin: Origin::Synthetic,
                environment: Environment::default(),
                tool_version: "0.1.0".to_owned(),
                status: RunStatus::Partial,
            },
        );
        let drift: Vec<bool> = set.records.iter().map(|r| r.flags.contains(Flag::Drift)).collect();
        assert_eq!(drift, [false, true, false]);
        assert_eq!(set.records[0].time(), Some(Nanos::new(50)));
        let run = set.manifest.run.unwrap();
        assert_eq!((run.seed, run.started_utc.as_str()), (4, "2026-11-30T10:26:00Z"));
        let names: Vec<&str> = set.manifest.files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["copy.csv"]);
        assert_eq!(set.manifest.files[0].software, "memcpy");
    }
}
