//! Execution traces of any bytes.

#![no_main]

use kernelgauge_trace::{ReadOptions, execution};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let options =
        ReadOptions { allow_truncated: true, allow_unknown_schema: true, ..ReadOptions::default() };
    let _ = execution::read("fuzz", bytes, &options);
});
