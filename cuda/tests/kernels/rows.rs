//! Sums and softmax of rows.

use kernelgauge_cuda::nvidia::kernels::geometry::parts;

use crate::buffer::Buffer;
use crate::emulator::{Argument, Kernels, UNITS};
use crate::number::{Brain, Half, Number, compare, random};

/// Group, rows, columns, elements off the 16-byte border.
pub const SHAPES: [(&str, usize, usize, usize); 14] = [
    ("warp", 1, 1, 0),
    ("warp", 5, 3, 0),
    ("warp", 37, 64, 0),
    ("warp", 2, 64, 1),
    ("warp", 3, 1021, 0),
    ("warp", 2, 1024, 0),
    ("block", 1, 1, 0),
    ("block", 3, 1536, 0),
    ("block", 2, 2003, 0),
    ("block", 1, 8192, 0),
    ("long", 1, 5, 0),
    ("long", 2, 8200, 0),
    ("long", 1, 8200, 1),
    ("long", 1, 9001, 0),
];

fn softmax<T: Number>(kernels: &Kernels) {
    for (group, rows, columns, shift) in SHAPES {
        let a = random::<T>(rows * columns, 3);
        let (input, out) = (Buffer::shifted(&a, shift), Buffer::<T>::blank(a.len(), shift));
        let name = format!("softmax_{group}_{}", T::NAME);
        let [r, c] = [rows, columns].map(|count| Argument::U64(count as u64));
        kernels.launch(&name, &[rows as u64], &[input.argument(), out.argument(), r, c]);
        let expected: Vec<f64> = a
            .chunks(columns)
            .flat_map(|row| {
                let sum: f64 = row.iter().map(|x| x.wide().exp()).sum();
                row.iter().map(move |x| x.wide().exp() / sum)
            })
            .collect();
        compare(&format!("{name} {rows} x {columns}"), &out.content(), &expected, 1e-7);
    }
}

#[test]
fn softmax_in_three_types() {
    let Some(kernels) = Kernels::of("softmax.cu") else { return };
    softmax::<f32>(&kernels);
    softmax::<Half>(&kernels);
    softmax::<Brain>(&kernels);
}

/// The largest element decides, wherever it stands, and far smaller ones vanish.
#[test]
fn softmax_of_large_numbers_is_finite() {
    let Some(kernels) = Kernels::of("softmax.cu") else { return };
    for group in ["warp", "block", "long"] {
        let a: Vec<f32> = (0..70).map(|i| i as f32 * 100.0 - 5e3).collect();
        let (input, out) = (Buffer::new(&a), Buffer::<f32>::blank(70, 0));
        let arguments = [input.argument(), out.argument(), Argument::U64(1), Argument::U64(70)];
        kernels.launch(&format!("softmax_{group}_f32"), &[1], &arguments);
        let mut expected = vec![0.0; 70];
        expected[69] = 1.0;
        compare(group, &out.content(), &expected, 0.0);
    }
}

fn sums<T: Number>(kernels: &Kernels) {
    let expect = |a: &[T], columns: usize| -> Vec<f64> {
        a.chunks(columns).map(|row| row.iter().map(|x| x.wide()).sum()).collect()
    };
    for (group, rows, columns, shift) in SHAPES.into_iter().filter(|shape| shape.0 != "long") {
        let a = random::<T>(rows * columns, 4);
        let (input, out) = (Buffer::shifted(&a, shift), Buffer::<T>::blank(rows, 0));
        let name = format!("sum_{group}_{}", T::NAME);
        let [r, c] = [rows, columns].map(|count| Argument::U64(count as u64));
        kernels.launch(&name, &[rows as u64], &[input.argument(), out.argument(), r, c]);
        compare(&name, &out.content(), &expect(&a, columns), 1e-7 * columns as f64);
    }
    for (rows, columns) in [(1, 1 << 17), (2, 40_001)] {
        let a = random::<T>(rows * columns, 5);
        let parts = parts(rows as u64, columns as u64, UNITS);
        assert!(parts > 1, "{rows} x {columns} is not split");
        let partials = Buffer::<f32>::blank(rows * parts as usize, 0);
        let (input, out) = (Buffer::new(&a), Buffer::<T>::blank(rows, 0));
        let [r, c, p] = [rows as u64, columns as u64, parts].map(Argument::U64);
        let (split, join) = (format!("sum_split_{}", T::NAME), format!("sum_join_{}", T::NAME));
        let arguments = [input.argument(), partials.argument(), r, c];
        kernels.launch(&split, &[rows as u64, parts], &arguments);
        kernels.launch(&join, &[rows as u64], &[partials.argument(), out.argument(), r, p]);
        partials.content();
        compare(&split, &out.content(), &expect(&a, columns), 1e-7 * columns as f64);
    }
}

#[test]
fn sums_in_three_types() {
    let Some(kernels) = Kernels::of("reduction.cu") else { return };
    sums::<f32>(&kernels);
    sums::<Half>(&kernels);
    sums::<Brain>(&kernels);
}
