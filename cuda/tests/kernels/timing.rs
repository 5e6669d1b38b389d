//! The kernels that timing needs, and what the emulator objects to.

use kernelgauge_cuda::nvidia::kernels::Geometry;

use crate::buffer::Buffer;
use crate::emulator::{Argument, Kernels};

#[test]
fn clocks_advance_and_held_streams_come_free() {
    let Some(kernels) = Kernels::of("timing.cu") else { return };
    kernels.launch("empty", &[], &[]);
    let out = Buffer::<u64>::blank(2, 0);
    kernels.launch("sample_clock", &[], &[out.argument(), Argument::U64(1000)]);
    let [cycles, nanoseconds] = out.content()[..] else { panic!("two numbers") };
    assert!(cycles > nanoseconds / 2 && nanoseconds >= 1000, "{cycles} in {nanoseconds}");
    for (flag, expected) in [(1_u32, 0), (0, 1)] {
        let (flag, late) = (Buffer::new(&[flag]), Buffer::new(&[0_u32]));
        let arguments = [flag.argument(), late.argument(), Argument::U64(500)];
        kernels.launch("hold_stream", &[], &arguments);
        assert_eq!(late.content(), [expected]);
    }
}

#[test]
fn a_flush_writes_every_byte_and_no_other() {
    let Some(kernels) = Kernels::of("timing.cu") else { return };
    let buffer = Buffer::<u32>::blank(4 * 5003, 0);
    let bytes = 16 * 5003;
    let arguments = [buffer.argument(), Argument::U64(bytes), Argument::U32(9)];
    kernels.launch("flush_cache", &[bytes], &arguments);
    assert!(buffer.content().iter().all(|word| *word == 9));
}

/// A lane count that splits no warp evenly leaves threads outside their own mask.
#[test]
fn what_would_be_undefined_on_a_gpu_is_an_error() {
    let Some(kernels) = Kernels::of("reduction.cu") else { return };
    let (a, out) = (Buffer::new(&[1.0_f32; 64]), Buffer::<f32>::blank(1, 0));
    let arguments = [a.argument(), out.argument(), Argument::U64(1), Argument::U64(64)];
    // Half a warp: the other half never comes to the shuffle.
    let geometry = Geometry { grid: [1, 1, 1], block: [16, 1, 1] };
    let error = kernels.try_launch("sum_warp_f32", geometry, &arguments).unwrap_err();
    assert!(error.contains("never completes"), "{error}");
}
