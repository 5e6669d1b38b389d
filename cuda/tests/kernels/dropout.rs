//! Dropout: the words are those published for Philox, and every element follows its own.

use crate::buffer::Buffer;
use crate::emulator::{Argument, Kernels};
use crate::number::{Brain, Half, Number, compare, random};

/// Philox4x32-10, from the paper.
fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let first = u64::from(counter[0]) * 0xd251_1f53;
        let second = u64::from(counter[2]) * 0xcd9e_8d57;
        counter = [
            (second >> 32) as u32 ^ counter[1] ^ key[0],
            second as u32,
            (first >> 32) as u32 ^ counter[3] ^ key[1],
            first as u32,
        ];
        key = [key[0].wrapping_add(0x9e37_79b9), key[1].wrapping_add(0xbb67_ae85)];
    }
    counter
}

/// The known answers that Random123 ships.
#[test]
fn the_generator_of_this_test_is_the_published_one() {
    assert_eq!(philox([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
    let ones = u32::MAX;
    let known = [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd];
    assert_eq!(philox([ones; 4], [ones; 2]), known);
}

fn check<T: Number>(kernels: &Kernels) {
    let seed = 0x0123_4567_89ab_cdef_u64;
    let (share, scale) = (0.3, 1.0 / 0.7_f32);
    let threshold = (share * 2_f64.powi(32)) as u32;
    for (size, shift) in [(1, 0), (5, 1), (8, 0), (1021, 0), (5000, 1)] {
        let a = random::<T>(size, 14);
        let (input, out) = (Buffer::shifted(&a, shift), Buffer::<T>::blank(size, shift));
        let arguments = [
            input.argument(),
            out.argument(),
            Argument::U64(size as u64),
            Argument::U32(threshold),
            Argument::F32(scale),
            Argument::U64(seed),
        ];
        kernels.launch(&format!("dropout_{}", T::NAME), &[size as u64], &arguments);
        let word =
            |i: usize| philox([(i / 4) as u32, 0, 0, 0], [seed as u32, (seed >> 32) as u32])[i % 4];
        let kept = |i: usize| word(i) >= threshold;
        let expected: Vec<f64> =
            (0..size).map(|i| if kept(i) { a[i].wide() * f64::from(scale) } else { 0.0 }).collect();
        compare(&format!("dropout {} {size}", T::NAME), &out.content(), &expected, 1e-6);
        let dropped = (0..size).filter(|i| !kept(*i)).count() as f64 / size as f64;
        assert!(size < 1000 || (dropped - share).abs() < 0.05, "{dropped} dropped");
    }
}

#[test]
fn dropout_in_three_types() {
    let Some(kernels) = Kernels::of("dropout.cu") else { return };
    check::<f32>(&kernels);
    check::<Half>(&kernels);
    check::<Brain>(&kernels);
}
