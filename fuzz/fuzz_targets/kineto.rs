//! Kineto traces of any bytes.

#![no_main]

use kernelgauge_trace::{ReadOptions, kineto};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for allow_truncated in [false, true] {
        let options = ReadOptions { allow_truncated, keep_python: true, ..ReadOptions::default() };
        let _ = kineto::read("fuzz", bytes, &options);
    }
});
