//! Chakra traces as JSON of any bytes.

#![no_main]

use kernelgauge_trace::chakra;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = chakra::read_json("fuzz", bytes);
});
