//! Conversions between element types, over every 16-bit value.

use crate::buffer::Buffer;
use crate::emulator::{Argument, Kernels};
use crate::number::{Brain, Half, Number, random};

fn cast<From: Number, To: Number>(kernels: &Kernels, content: &[From], shift: usize) -> Vec<To> {
    let (a, out) = (Buffer::shifted(content, shift), Buffer::<To>::blank(content.len(), 0));
    let elements = content.len() as u64;
    let name = format!("cast_{}_{}", From::NAME, To::NAME);
    kernels.launch(&name, &[elements], &[a.argument(), out.argument(), Argument::U64(elements)]);
    out.content()
}

fn check<From: Number, To: Number>(kernels: &Kernels, content: &[From]) {
    for shift in [0, 1] {
        let found = cast::<From, To>(kernels, content, shift);
        for (from, found) in content.iter().zip(found) {
            let expected = To::of(from.wide());
            let both_nan = from.wide().is_nan() && found.wide().is_nan();
            assert!(both_nan || found == expected, "{from:?} became {found:?}, not {expected:?}");
        }
    }
}

#[test]
fn every_16_bit_value_and_what_lies_between() {
    let Some(kernels) = Kernels::of("cast.cu") else { return };
    let halves: Vec<Half> = (0..=u16::MAX).map(Half).collect();
    let brains: Vec<Brain> = (0..=u16::MAX).map(Brain).collect();
    check::<Half, f32>(&kernels, &halves);
    check::<Half, Brain>(&kernels, &halves);
    check::<Brain, f32>(&kernels, &brains);
    check::<Brain, Half>(&kernels, &brains);
    // The middle between neighbours, and the floats next to it.
    let middles = |values: Vec<f64>| -> Vec<f32> {
        values
            .windows(2)
            .map(|pair| ((pair[0] + pair[1]) / 2.0) as f32)
            .flat_map(|x| [x, x.next_up(), x.next_down(), -x])
            .collect()
    };
    check::<f32, Half>(&kernels, &middles((0..0x7c00).map(|bits| Half(bits).wide()).collect()));
    check::<f32, Brain>(&kernels, &middles((0..0x7f80).map(|bits| Brain(bits).wide()).collect()));
    check::<f32, Half>(&kernels, &[65504.0, 65519.0, 65520.0, 1e30, -1e30, f32::INFINITY, 0.0]);
    check::<f32, Brain>(&kernels, &[f32::MAX, -f32::MAX, f32::NEG_INFINITY, f32::NAN, -0.0]);
}

#[test]
fn awkward_sizes() {
    let Some(kernels) = Kernels::of("cast.cu") else { return };
    for size in [1, 7, 9, 1021] {
        check::<f32, Half>(&kernels, &random::<f32>(size, 12));
        check::<Half, f32>(&kernels, &random::<Half>(size, 13));
    }
}
