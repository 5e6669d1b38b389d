//! Element-wise ops.

use crate::buffer::Buffer;
use crate::emulator::{Argument, Kernels};
use crate::number::{Brain, Half, Number, compare, random};

/// Elements, and elements off the 16-byte border.
const SIZES: [(usize, usize); 9] =
    [(1, 0), (3, 1), (7, 0), (8, 0), (17, 0), (31, 3), (1021, 0), (4099, 1), (20_011, 0)];

fn reference(op: &str, x: f64, y: f64) -> f64 {
    match op {
        "add" => x + y,
        "scale" => 1.5 * x,
        "relu" => x.max(0.0),
        "sigmoid" => 1.0 / (1.0 + (-x).exp()),
        "gelu" => {
            let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x.powi(3));
            0.5 * x * (1.0 + inner.tanh())
        }
        _ => 1.5,
    }
}

fn check<T: Number>(kernels: &Kernels) {
    for (size, shift) in SIZES {
        let (a, b) = (random::<T>(size, 1), random::<T>(size, 2));
        for op in ["add", "scale", "relu", "sigmoid", "gelu", "fill"] {
            let (first, second) = (Buffer::shifted(&a, shift), Buffer::shifted(&b, shift));
            let out = Buffer::<T>::blank(size, shift);
            let elements = Argument::U64(size as u64);
            let (first, second, result) = (first.argument(), second.argument(), out.argument());
            let arguments: Vec<Argument> = match op {
                "add" => vec![first, second, result, elements],
                "scale" => vec![first, result, Argument::F32(1.5), elements],
                "fill" => vec![result, Argument::F32(1.5), elements],
                _ => vec![first, result, elements],
            };
            kernels.launch(&format!("{op}_{}", T::NAME), &[size as u64], &arguments);
            let pairs = a.iter().zip(&b);
            let expected: Vec<f64> =
                pairs.map(|(x, y)| reference(op, x.wide(), y.wide())).collect();
            compare(&format!("{op} {} {size}", T::NAME), &out.content(), &expected, 1e-6);
        }
    }
}

#[test]
fn element_wise_ops_in_three_types() {
    let Some(kernels) = Kernels::of("elementwise.cu") else { return };
    check::<f32>(&kernels);
    check::<Half>(&kernels);
    check::<Brain>(&kernels);
}

/// Far arguments must not become NaN.
#[test]
fn ends_of_the_range_saturate() {
    let Some(kernels) = Kernels::of("elementwise.cu") else { return };
    let a = Buffer::new(&[-1e4_f32, -100.0, 100.0, 1e4]);
    for (name, expected) in
        [("sigmoid_f32", [0.0, 0.0, 1.0, 1.0]), ("gelu_f32", [0.0, 0.0, 100.0, 1e4])]
    {
        let out = Buffer::<f32>::blank(4, 0);
        kernels.launch(name, &[4], &[a.argument(), out.argument(), Argument::U64(4)]);
        compare(name, &out.content(), &expected, 1e-6);
    }
}
