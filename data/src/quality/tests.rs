//! Tables with known faults, and without.

use std::path::Path;

use super::*;
use crate::import::{ImportOptions, import_bytes};
use crate::machine::{Hardware, Links};
use crate::measurement::{Measurement, Outcome, Spread};
use crate::units::Nanos;

fn machine(hardware: Hardware) -> Machine {
    Machine {
        name: "made-up".to_owned(),
        device: "Made-up device".to_owned(),
        count: 1,
        links: Links::Unstated,
        software: Default::default(),
        hardware,
    }
}

fn records(text: &str) -> Vec<Record> {
    let options = ImportOptions { ranks: Some(8), ..ImportOptions::default() };
    import_bytes(text.as_bytes(), Path::new("t.csv"), &options).unwrap().records
}

/// The flagged points as `flag: point` in record order.
fn flagged_on(text: &str, hardware: Hardware) -> Vec<String> {
    let mut records = records(text);
    gate(&mut records, &machine(hardware));
    let named = |record: &Record| {
        let point = record.point.to_string();
        record.flags.iter().map(move |flag| format!("{}: {point}", flag.name())).collect::<Vec<_>>()
    };
    records.iter().flat_map(named).collect()
}

fn flagged(text: &str) -> Vec<String> {
    flagged_on(text, Hardware::default())
}

const SPIKES_AND_IMPOSSIBLE: &str = "m,n,k,time_us\n\
    1,1024,4096,4.020\n2,1024,4096,4.040\n4,1024,4096,4.080\n8,1024,4096,4.160\n\
    16,1024,4096,4.320\n32,1024,4096,15.773\n64,1024,4096,5.278\n128,1024,4096,6.557\n\
    256,1024,4096,0.182\n1,4096,4096,4.080\n2,4096,4096,4.160\n4,4096,4096,4.320\n\
    8,4096,4096,4.639\n16,4096,4096,5.278\n32,4096,4096,22.292\n64,4096,4096,9.113\n\
    128,4096,4096,14.226\n256,4096,4096,0.489\n";

#[test]
fn spikes_and_impossible_points_are_told_apart_and_nothing_else_is_flagged() {
    let expected = [
        "spike: gemm f32 batch=1 m=32 n=1024 k=4096",
        "below_speed_of_light: gemm f32 batch=1 m=256 n=1024 k=4096",
        "spike: gemm f32 batch=1 m=32 n=4096 k=4096",
        "below_speed_of_light: gemm f32 batch=1 m=256 n=4096 k=4096",
    ];
    assert_eq!(flagged(SPIKES_AND_IMPOSSIBLE), expected);
    // The order of rows and the parameter that is swept do not matter.
    let mut rows: Vec<&str> = SPIKES_AND_IMPOSSIBLE.lines().skip(1).collect();
    rows.reverse();
    let swept_k = format!("k,n,m,time_us\n{}\n", rows.join("\n"));
    let mut found = flagged(&swept_k);
    found.sort();
    assert_eq!(found.len(), 4, "{found:?}");
    assert!(found.iter().filter(|f| f.starts_with("spike") && f.ends_with("k=32")).count() == 2);
}

#[test]
fn a_published_peak_bounds_even_a_lonely_point() {
    let peak_tflop_s = [("f32".to_owned(), 10.0)].into();
    let hardware = Hardware { peak_tflop_s, ..Hardware::default() };
    // 2 * 1024^3 operations in 200 µs are 10.7 TFLOP/s, in 220 µs 9.8.
    let found = flagged_on("m,n,k,time_us\n1024,1024,1024,200\n1024,1024,2048,440\n", hardware);
    assert_eq!(found, ["below_speed_of_light: gemm f32 batch=1 m=1024 n=1024 k=1024"]);

    let (memory_gb_s, cache_bytes) = (Some(100.0), Some(1 << 20));
    let hardware = Hardware { memory_gb_s, cache_bytes, ..Hardware::default() };
    // 1 MiB fits the cache; 64 MiB read and written in 600 µs are 217 GB/s.
    let found = flagged_on("bytes,time_us\n1048576,3\n67108864,600\n", hardware);
    assert_eq!(found, ["below_speed_of_light: copy d2d/pageable bytes=67108864"]);
}

#[test]
fn what_a_cache_can_hold_is_not_judged_against_the_memory() {
    // 2 KiB at 205 GB/s, then 4 MiB and more at 20 to 28 GB/s, as a processor copies.
    let rows = "h2h,1024,0.01\nh2h,2097152,200\nh2h,4194304,300\nh2h,67108864,6700\n";
    let text = format!("direction,bytes,time_us\n{rows}");
    assert_eq!(flagged(&text), [""; 0]);
    // Noise of the second smallest point, which the first-level cache serves.
    let late = text.replace("h2h,1024,", "h2h,512,0.08\nh2h,1024,");
    assert_eq!(flagged(&late), ["non_monotonic: copy h2h/pageable bytes=1024"]);
    let hardware = Hardware { cache_bytes: Some(1 << 20), ..Hardware::default() };
    assert_eq!(flagged_on(&text, hardware.clone()), [""; 0]);

    // Hot operands larger than the stated cache may lie in another level of it.
    let hardware = Hardware { memory_gb_s: Some(20.0), ..hardware };
    let with_cache = |cache: &str| {
        let text = format!("direction,bytes,time_us,cache\nh2h,8388608,400,{cache}\n");
        flagged_on(&text, hardware.clone())
    };
    assert_eq!(with_cache("hot"), [""; 0]);
    assert_eq!(with_cache("cold").len(), 1);
    // Cold operands come from the memory, however few they are.
    let cold = text.replace("time_us", "time_us,cache").replace("\nh2h", ",cold\nh2h");
    let cold = cold.replacen(",cold", "", 1).replace("6700\n", "6700,cold\n");
    assert_eq!(flagged(&cold), ["below_speed_of_light: copy h2h/pageable bytes=1024"]);
}

#[test]
fn an_impossible_point_is_found_at_the_start_of_a_line_and_in_other_families() {
    let start = "m,n,k,time_us\n64,1024,1024,0.01\n128,1024,1024,20\n256,1024,1024,40\n";
    assert_eq!(flagged(start), ["below_speed_of_light: gemm f32 batch=1 m=64 n=1024 k=1024"]);
    let copies = "bytes,time_us\n1048576,10\n2097152,20\n4194304,0.4\n8388608,80\n16777216,160\n";
    assert_eq!(flagged(copies), ["below_speed_of_light: copy d2d/pageable bytes=4194304"]);
}

#[test]
fn times_that_fall_as_work_grows_are_only_told() {
    let text = "name,size,time_us\nAllReduce,1024,10\nAllReduce,2048,20\nAllReduce,4096,15\n\
                AllReduce,8192,14.9\nAllReduce,16384,30\n";
    let found = flagged(text);
    assert_eq!(found, ["non_monotonic: collective all_reduce/f32 ranks=8 nodes=1 bytes=4096"]);
    assert!(!Flag::NonMonotonic.leaves_fit());
}

#[test]
fn steps_and_flat_lines_are_no_spikes() {
    for text in [
        "batch,time_us\n1,99.8\n2,99.6\n4,100.2\n8,99.9\n16,100.2\n32,100.0\n",
        "m,n,k,time_us\n64,64,64,4\n128,64,64,8\n129,64,64,16\n256,64,64,16\n257,64,64,32\n",
        "m,n,k,time_us\n64,64,64,4\n",
    ] {
        assert_eq!(flagged(text), [""; 0], "{text}");
    }
}

#[test]
fn repeats_that_disagree_are_flagged_together() {
    let text = "m,n,k,time_us\n64,64,64,4.2\n64,64,64,4.3\n128,64,64,4.4\n128,64,64,9.7\n";
    let found = flagged(text);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found.iter().all(|found| found.starts_with("conflicting_repeats: gemm f32 batch=1 m=128"))
    );
}

#[test]
fn few_samples_and_wide_spread_are_told_with_their_numbers() {
    let mut records = records("m,n,k,time_us\n64,64,64,100\n");
    let ns = |us: u64| Nanos::new(us * 1_000);
    let spread = Spread {
        min: ns(80),
        p10: ns(85),
        q1: ns(90),
        q3: ns(110),
        p90: ns(120),
        max: ns(130),
        mean: ns(101),
        stdev: ns(12),
    };
    records[0].outcome = Outcome::Measured(Measurement {
        samples: 5,
        spread: Some(spread),
        ..Measurement::stated(ns(100))
    });
    let findings = gate(&mut records, &machine(Hardware::default()));
    let details: Vec<&str> = findings.iter().map(|finding| finding.detail.as_str()).collect();
    assert_eq!(
        details,
        [
            "gemm f32 batch=1 m=64 n=64 k=64: 5 samples; a median needs 6",
            "gemm f32 batch=1 m=64 n=64 k=64: the quartiles are 20 % apart",
        ]
    );
    assert_eq!(gate(&mut records, &machine(Hardware::default())), findings);
}
