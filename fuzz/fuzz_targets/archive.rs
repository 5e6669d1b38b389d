//! Files of any bytes, wrapped in gzip, tar or both, as a command would be given them.

#![no_main]

use kernelgauge_trace::{ReadOptions, input};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let path = std::env::temp_dir().join(format!("kernelgauge-fuzz-{}", std::process::id()));
    if std::fs::write(&path, bytes).is_ok() {
        let options = ReadOptions { allow_truncated: true, ..ReadOptions::default() };
        let _ = input::load(std::slice::from_ref(&path), &options);
    }
});
