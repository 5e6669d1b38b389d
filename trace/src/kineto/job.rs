//! What a trace says of the job and the machine: rank, groups, devices.

use serde_json::Value;

use crate::json::mend;
use crate::recording::{RankSource, RecordedDevice, RecordedGroup, Recording, StatedRank};

/// Top-level objects and lists that are understood; all others are passed over.
pub(super) fn is_wanted(key: &str) -> bool {
    matches!(key, "distributedInfo" | "deviceProperties")
}

/// Top-level texts and numbers that are kept: versions and switches of the profiler. Users,
/// hosts, jobs and paths stand there too, and belong into no output.
pub(super) fn is_kept(key: &str) -> bool {
    matches!(
        key,
        "schemaVersion"
            | "displayTimeUnit"
            | "baseTimeNanoseconds"
            | "record_shapes"
            | "profile_memory"
            | "with_stack"
            | "with_flops"
            | "with_modules"
            | "cupti_version"
            | "cuda_runtime_version"
            | "cuda_driver_version"
            | "roctracer_version"
            | "hip_runtime_version"
            | "hip_driver_version"
    )
}

/// Takes one of them. What is not as expected in it is left out.
pub(super) fn take(recording: &mut Recording, key: &str, text: &str) {
    let parsed = serde_json::from_str::<Value>(text).ok();
    let Some(value) = parsed.or_else(|| serde_json::from_str(&mend(text)?.text).ok()) else {
        return;
    };
    match key {
        "distributedInfo" => distributed(recording, &value),
        "deviceProperties" => recording.devices = list(&value).filter_map(device).collect(),
        _ => {}
    }
}

fn distributed(recording: &mut Recording, value: &Value) {
    recording.rank = number(value, "rank").map(|rank| StatedRank { rank, by: RankSource::Content });
    recording.world_size = number(value, "world_size");
    recording.backend = text(value, "backend");
    recording.communication_version = text(value, "nccl_version");
    recording.groups =
        value.get("pg_config").into_iter().flat_map(list).filter_map(group).collect();
}

fn group(value: &Value) -> Option<RecordedGroup> {
    Some(RecordedGroup {
        name: text(value, "pg_name")?,
        description: text(value, "pg_desc").unwrap_or_default(),
        size: number(value, "pg_size").or_else(|| number(value, "group_size")),
        ranks: ranks(value.get("ranks")?).unwrap_or_default(),
    })
}

/// Ranks as a list or as a text of one; none if any of them is no rank (`...`).
fn ranks(value: &Value) -> Option<Vec<u32>> {
    match value {
        Value::String(text) => ranks(&serde_json::from_str(text).ok()?),
        _ => value.as_array()?.iter().map(|rank| u32::try_from(rank.as_u64()?).ok()).collect(),
    }
}

fn device(value: &Value) -> Option<RecordedDevice> {
    Some(RecordedDevice {
        id: number(value, "id")?,
        name: text(value, "name").unwrap_or_default(),
        multiprocessors: number(value, "numSms"),
        memory_bytes: value.get("totalGlobalMem").and_then(Value::as_u64),
        compute_capability: number(value, "computeMajor").zip(number(value, "computeMinor")),
    })
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// A whole number that is not negative, also as a text.
fn number(value: &Value, key: &str) -> Option<u32> {
    match value.get(key)? {
        Value::String(text) => text.parse().ok(),
        other => u32::try_from(other.as_u64()?).ok(),
    }
}

/// A text, or a number as one.
fn text(value: &Value, key: &str) -> Option<String> {
    match value.get(key)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_groups_and_devices() {
        let mut recording = Recording::default();
        take(
            &mut recording,
            "distributedInfo",
            r#"{"backend": "nccl", "rank": 3, "world_size": 8, "nccl_version": "2.21.5",
                "pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "pg_size": 2,
                               "ranks": [0, 1]}, {"pg_name": 7, "ranks": "[2, 3]"}, 5]}"#,
        );
        assert_eq!(recording.rank.map(|stated| stated.rank), Some(3));
        assert_eq!(recording.world_size, Some(8));
        let groups: Vec<_> =
            recording.groups.iter().map(|group| (group.name.as_str(), &*group.ranks)).collect();
        assert_eq!(groups, [("0", &[0, 1][..]), ("7", &[2, 3][..])]);

        let properties = r#"[{"id": 1, "name": "G", "computeMajor": 9, "computeMinor": 0, "numSms": 132, "x": NaN}]"#;
        take(&mut recording, "deviceProperties", properties);
        assert_eq!(recording.devices.len(), 1);
        assert_eq!(recording.devices[0].compute_capability, Some((9, 0)));
        assert_eq!(recording.devices[0].multiprocessors, Some(132));
    }
}
