//! Chakra traces of any bytes; what was read is written and read again.

#![no_main]

use kernelgauge_trace::chakra;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(trace) = chakra::read("fuzz", bytes) {
        let mut written = Vec::new();
        if chakra::write(&trace, &mut written).is_ok() {
            let again = chakra::read("fuzz", written.as_slice());
            assert!(again.is_ok(), "what was written is read: {again:?}");
        }
    }
});
