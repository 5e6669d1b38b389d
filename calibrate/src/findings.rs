//! Warnings about what the quality gate and the sweep found, one per flag.

use kernelgauge_data::quality::Finding;
use kernelgauge_data::{Flag, Record};

use crate::commands::Surroundings;

/// Says for every flag how many records have it, the first of them, and what it means. `found`
/// holds the numbers behind the flags of the quality gate.
pub fn warn(records: &[Record], found: &[Finding], around: &mut Surroundings<'_>) {
    for flag in Flag::ALL {
        let flagged: Vec<usize> =
            (0..records.len()).filter(|index| records[*index].flags.contains(flag)).collect();
        let Some(first) = flagged.first() else { continue };
        let (count, total, name) = (flagged.len(), records.len(), flag.name());
        let more = if count > 1 { format!(" and {} more", count - 1) } else { String::new() };
        let example = detail(records, found, *first, flag);
        around.warn(
            &format!("{count} of {total} points flagged `{name}`\n  {example}{more}"),
            Some(meaning(flag)),
        );
    }
}

/// The point at `index` and the numbers behind its flag, where the gate found it.
pub fn detail(records: &[Record], found: &[Finding], index: usize, flag: Flag) -> String {
    let numbers = found.iter().find(|finding| finding.record == index && finding.flag == flag);
    match numbers {
        Some(finding) => finding.detail.clone(),
        None => records[index].point.to_string(),
    }
}

/// What a flag means for the model, and what can be done about it.
fn meaning(flag: Flag) -> &'static str {
    match flag {
        Flag::BelowSpeedOfLight => {
            "faster than the device can be: kept in the data set, left out of the fit"
        }
        Flag::Spike => "slower than both neighbours: kept in the data set, left out of the fit",
        Flag::NonMonotonic => "more work took less time: kept and fitted; `report.md` lists them",
        Flag::FewSamples => {
            "kept and fitted; a longer --max-time-per-point, or more --samples, tell more"
        }
        Flag::Throttled => {
            "the clock was lowered meanwhile: kept in the data set, left out of the fit"
        }
        Flag::Contended => {
            "other programs had the processor: kept and fitted; run the same command again on a \
             quieter machine and these points are measured anew"
        }
        Flag::WideSpread => "kept and fitted; other work on the machine makes samples differ",
        Flag::ConflictingRepeats => "repeats of one point disagree: all are kept and fitted",
        Flag::Drift => {
            "the machine's speed moved while they were measured: kept and fitted; \
             `calibrate doctor` says what may disturb it"
        }
        Flag::FailedCheck => "results were wrong: kept in the data set, left out of the fit",
    }
}

#[cfg(test)]
mod tests {
    use kernelgauge_data::{
        BuildInfo, Conditions, CopyDirection, CopyPoint, Flags, Measurement, Nanos, Outcome, Point,
    };

    use super::*;

    #[test]
    fn each_flag_is_said_once_with_an_example_and_its_meaning() {
        let record = |bytes, flagged: bool| {
            let mut flags = Flags::NONE;
            if flagged {
                flags.insert(Flag::Drift);
            }
            let direction = CopyDirection::HostToHost;
            Record {
                point: Point::Copy(CopyPoint { direction, pinned: false, bytes }),
                conditions: Conditions::default(),
                outcome: Outcome::Measured(Measurement::stated(Nanos::new(5))),
                flags,
            }
        };
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let mut around = Surroundings {
            stdout: &mut stdout,
            stderr: &mut stderr,
            build: &BuildInfo::plain(),
            began: std::time::Instant::now(),
        };
        warn(&[record(1, false), record(2, true), record(3, true)], &[], &mut around);
        let text = String::from_utf8(stderr).unwrap();
        assert!(text.starts_with(
            "warning: 2 of 3 points flagged `drift`\n  copy h2h/pageable bytes=2 and 1 more\nhint: "
        ));
        assert_eq!(text.lines().count(), 3);
    }
}
