//! The fields of a record beyond its point: conditions, time, spread, status and flags.

use std::borrow::Cow;
use std::str::FromStr;

use crate::conditions::{CacheState, Conditions, InputContent};
use crate::family::Family;
use crate::fields::Lookup;
use crate::fields::error::FieldError;
use crate::fields::outcome::{failure_from_text, failure_text, skip_from_text, skip_text};
use crate::fields::point::{boolean, integer, read_point, write_point};
use crate::fields::time::{microseconds, read_microseconds, read_spread};
use crate::measurement::{Flag, Flags, Measurement, Outcome, Record, Spread, StopReason};
use crate::nearest::{self, UnknownName};
use crate::point::Point;
use crate::units::Nanos;

/// Every field of a record beyond those of its point, in file order.
pub const RECORD_COLUMNS: [&str; 21] = [
    "time_us",
    "cache",
    "input",
    "kernel",
    "time_min_us",
    "time_p10_us",
    "time_q1_us",
    "time_q3_us",
    "time_p90_us",
    "time_max_us",
    "time_mean_us",
    "time_stdev_us",
    "samples",
    "executions_per_sample",
    "stop",
    "verified",
    "status",
    "reason",
    "flags",
    "sm_clock_mhz",
    "temperature_c",
];

/// The columns of the spread: a row has all of them or none.
pub const SPREAD_COLUMNS: [&str; 8] = [
    "time_min_us",
    "time_p10_us",
    "time_q1_us",
    "time_q3_us",
    "time_p90_us",
    "time_max_us",
    "time_mean_us",
    "time_stdev_us",
];

const STATUSES: [&str; 3] = ["ok", "skipped", "failed"];

/// Reads a record of `family`. Without a `status` the record is measured.
///
/// # Errors
/// Names the field and what is wrong with it.
pub fn read_record(family: Family, get: Lookup<'_, '_>) -> Result<Record, FieldError> {
    let point = read_point(family, get)?;
    read_about(point, get)
}

/// Reads everything beyond the point of a record.
pub(crate) fn read_about(point: Point, get: Lookup<'_, '_>) -> Result<Record, FieldError> {
    let find = |column: &str| get(column).filter(|value| !value.is_empty());
    let conditions = Conditions {
        cache: find("cache").map_or(Ok(CacheState::Unstated), |value| parse("cache", value))?,
        input: find("input").map_or(InputContent::Unstated, InputContent::from),
        kernel: find("kernel").unwrap_or_default().to_owned(),
    };
    let flags = find("flags").map_or(Ok(Flags::NONE), read_flags)?;
    let outcome = match find("status").unwrap_or("ok") {
        "ok" => Outcome::Measured(read_measurement(&find)?),
        "skipped" => Outcome::Skipped(skip_from_text(reason_without_time(&find)?)),
        "failed" => Outcome::Failed(failure_from_text(reason_without_time(&find)?)),
        other => return Err(unknown("status", nearest::unknown("status", other, STATUSES))),
    };
    Ok(Record { point, conditions, outcome, flags })
}

/// The fields of a record: its point's, then [`RECORD_COLUMNS`].
pub fn write_record(record: &Record) -> Vec<(Cow<'static, str>, String)> {
    let mut fields = write_point(&record.point);
    fields.extend(write_about(record).into_iter().map(|(name, text)| (Cow::Borrowed(name), text)));
    fields
}

/// The fields of [`RECORD_COLUMNS`] in order.
pub(crate) fn write_about(record: &Record) -> Vec<(&'static str, String)> {
    let mut values = vec![String::new(); RECORD_COLUMNS.len()];
    values[1] = record.conditions.cache.name().to_owned();
    values[2] = record.conditions.input.name().to_owned();
    values[3].clone_from(&record.conditions.kernel);
    match &record.outcome {
        Outcome::Measured(measurement) => write_measurement(measurement, &mut values),
        Outcome::Skipped(reason) => {
            values[16] = "skipped".to_owned();
            values[17] = skip_text(reason);
        }
        Outcome::Failed(failure) => {
            values[16] = "failed".to_owned();
            values[17] = failure_text(failure);
        }
    }
    let flags: Vec<&str> = record.flags.iter().map(Flag::name).collect();
    values[18] = flags.join(";");
    RECORD_COLUMNS.into_iter().zip(values).collect()
}

fn write_measurement(measurement: &Measurement, values: &mut [String]) {
    values[0] = microseconds(measurement.time);
    if let Some(spread) = &measurement.spread {
        for (value, time) in values[4..12].iter_mut().zip(spread_times(spread)) {
            *value = microseconds(time);
        }
    }
    for (value, count) in
        values[12..14].iter_mut().zip([measurement.samples, measurement.executions_per_sample])
    {
        if count > 0 {
            *value = count.to_string();
        }
    }
    for (value, number) in
        values[19..].iter_mut().zip([measurement.sm_clock_mhz, measurement.temperature_c])
    {
        *value = number.map_or_else(String::new, |number| number.to_string());
    }
    values[14] = measurement.stop.map_or("", StopReason::name).to_owned();
    if measurement.verified {
        values[15] = "true".to_owned();
    }
    values[16] = "ok".to_owned();
}

fn spread_times(spread: &Spread) -> [Nanos; 8] {
    let Spread { min, p10, q1, q3, p90, max, mean, stdev } = *spread;
    [min, p10, q1, q3, p90, max, mean, stdev]
}

fn read_measurement<'a>(find: &dyn Fn(&str) -> Option<&'a str>) -> Result<Measurement, FieldError> {
    let text = find("time_us").ok_or(FieldError::Missing(Cow::Borrowed("time_us")))?;
    if let Some(reason) = find("reason") {
        return Err(FieldError::Inconsistent(format!(
            "a measured point has the reason `{reason}`; its status should be `skipped` or `failed`"
        )));
    }
    let count = |column: &'static str| {
        let value = find(column).map_or(Ok(0), |value| integer(column, value))?;
        u32::try_from(value).map_err(|_| FieldError::NotAnInteger {
            column: Cow::Borrowed(column),
            value: value.to_string(),
        })
    };
    let stated = |column: &'static str| find(column).map(|_| count(column)).transpose();
    let time = read_microseconds("time_us", text)?;
    let spread = read_all_of_spread(find)?;
    if let Some(Spread { min, max, .. }) = spread.filter(|s| time < s.min || s.max < time) {
        return Err(FieldError::Inconsistent(format!(
            "time_us is {time}, outside its own samples from {min} to {max}"
        )));
    }
    Ok(Measurement {
        time,
        samples: count("samples")?,
        executions_per_sample: count("executions_per_sample")?,
        spread,
        stop: find("stop").map(|value| parse("stop", value)).transpose()?,
        verified: find("verified").map_or(Ok(false), |value| boolean("verified", value))?,
        sm_clock_mhz: stated("sm_clock_mhz")?,
        temperature_c: stated("temperature_c")?,
    })
}

/// All eight columns of the spread, or none of them.
fn read_all_of_spread<'a>(
    find: &dyn Fn(&str) -> Option<&'a str>,
) -> Result<Option<Spread>, FieldError> {
    if SPREAD_COLUMNS.iter().all(|column| find(column).is_none()) {
        return Ok(None);
    }
    let mut times = [Nanos::default(); 8];
    for (time, column) in times.iter_mut().zip(SPREAD_COLUMNS) {
        let text = find(column).ok_or(FieldError::Missing(Cow::Borrowed(column)))?;
        *time = read_spread(column, text)?;
    }
    let [min, p10, q1, q3, p90, max, mean, stdev] = times;
    if !(min <= p10 && p10 <= q1 && q1 <= q3 && q3 <= p90 && p90 <= max) {
        return Err(FieldError::Inconsistent(
            "time_min_us to time_max_us do not rise from column to column".to_owned(),
        ));
    }
    Ok(Some(Spread { min, p10, q1, q3, p90, max, mean, stdev }))
}

/// The reason of a point that has no time.
fn reason_without_time<'a>(find: &dyn Fn(&str) -> Option<&'a str>) -> Result<&'a str, FieldError> {
    match find("time_us") {
        Some(time) => Err(FieldError::Inconsistent(format!(
            "time_us is `{time}` although the status says there is no time"
        ))),
        None => Ok(find("reason").unwrap_or_default()),
    }
}

fn read_flags(text: &str) -> Result<Flags, FieldError> {
    let mut flags = Flags::NONE;
    for name in text.split(';') {
        flags.insert(parse("flags", name.trim())?);
    }
    Ok(flags)
}

fn parse<T: FromStr<Err = UnknownName>>(
    column: &'static str,
    value: &str,
) -> Result<T, FieldError> {
    value.parse().map_err(|name| unknown(column, name))
}

fn unknown(column: &'static str, name: UnknownName) -> FieldError {
    FieldError::Unknown { column: Cow::Borrowed(column), name }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::Dtype;
    use crate::measurement::{Failure, SkipReason};
    use crate::point::{GemmLayout, GemmPoint};

    fn record(outcome: Outcome) -> Record {
        Record {
            point: Point::Gemm(GemmPoint {
                dtype: Dtype::F32,
                batch: 1,
                m: 2,
                n: 3,
                k: 4,
                layout: GemmLayout::Unstated,
            }),
            conditions: Conditions {
                cache: CacheState::Cold,
                input: InputContent::Random,
                kernel: "gemm 0.19".to_owned(),
            },
            outcome,
            flags: Flags::NONE,
        }
    }

    fn read(fields: &[(&str, &str)]) -> Result<Record, FieldError> {
        read_record(Family::Gemm, &|name| {
            fields.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
        })
    }

    fn round_trip(record: &Record) {
        let written = write_record(record);
        let fields: Vec<(&str, &str)> =
            written.iter().map(|(name, value)| (name.as_ref(), value.as_str())).collect();
        assert_eq!(read(&fields).as_ref(), Ok(record));
    }

    #[test]
    fn records_read_back_as_written() {
        let spread = [10, 11, 12, 14, 15, 900_001, 20, 0].map(Nanos::new);
        let [min, p10, q1, q3, p90, max, mean, stdev] = spread;
        let mut measured = record(Outcome::Measured(Measurement {
            time: Nanos::new(13_001),
            samples: 30,
            executions_per_sample: 1024,
            spread: Some(Spread { min, p10, q1, q3, p90, max, mean, stdev }),
            stop: Some(StopReason::NoiseStable),
            verified: true,
            sm_clock_mhz: Some(1_980),
            temperature_c: Some(61),
        }));
        measured.flags.insert(Flag::Drift);
        measured.flags.insert(Flag::Spike);
        round_trip(&measured);
        round_trip(&record(Outcome::Measured(Measurement::stated(Nanos::new(1)))));
        round_trip(&record(Outcome::Skipped(SkipReason::Unsupported("fp8".to_owned()))));
        round_trip(&record(Outcome::Failed(Failure::BelowTimerResolution)));
    }

    #[test]
    fn a_time_and_its_absence_must_agree_with_the_status() {
        let base = [("dtype", "f32"), ("m", "2"), ("n", "3"), ("k", "4")];
        let with = |extra: &[(&'static str, &'static str)]| {
            read(&[&base[..], extra].concat()).map(|record| record.outcome)
        };
        assert!(with(&[]).is_err());
        assert!(with(&[("time_us", "4.2"), ("status", "failed")]).is_err());
        assert!(with(&[("time_us", "4.2"), ("reason", "lost")]).is_err());
        assert!(with(&[("time_us", "4.2"), ("time_min_us", "4")]).is_err());
        let mut outside = vec![("time_us", "4.2")];
        outside.extend(SPREAD_COLUMNS.map(|column| (column, "5")));
        let error = with(&outside).unwrap_err().to_string();
        assert_eq!(error, "time_us is 4.2 µs, outside its own samples from 5 µs to 5 µs");
        let error = with(&[("status", "faild")]).unwrap_err();
        assert!(error.to_string().contains("unknown status `faild`"), "{error}");
        let skipped = SkipReason::Stated("old".to_owned());
        assert_eq!(
            with(&[("status", "skipped"), ("reason", "old")]),
            Ok(Outcome::Skipped(skipped))
        );
    }
}
