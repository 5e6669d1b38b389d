//! Layer normalisation, forward and backward.

use crate::buffer::Buffer;
use crate::emulator::{Argument, Kernels};
use crate::number::{Brain, Half, Number, compare, random};
use crate::rows::SHAPES;

const FLOOR: f64 = 1e-5;

/// Mean, factor and normalised elements of a row.
fn normalised<T: Number>(row: &[T]) -> (f64, f64, Vec<f64>) {
    let count = row.len() as f64;
    let mean = row.iter().map(|x| x.wide()).sum::<f64>() / count;
    let variance = row.iter().map(|x| (x.wide() - mean).powi(2)).sum::<f64>() / count;
    let factor = 1.0 / (variance + FLOOR).sqrt();
    (mean, factor, row.iter().map(|x| (x.wide() - mean) * factor).collect())
}

fn forward<T: Number>(
    kernels: &Kernels,
    (group, rows, columns, shift): (&str, usize, usize, usize),
) {
    let a = random::<T>(rows * columns, 6);
    let (w, b) = (random::<T>(columns, 7), random::<T>(columns, 8));
    let (input, weights, biases) = (Buffer::shifted(&a, shift), Buffer::new(&w), Buffer::new(&b));
    let out = Buffer::<T>::blank(a.len(), shift);
    let [means, factors] = [(); 2].map(|()| Buffer::<f32>::blank(rows, 0));
    let name = format!("layer_norm_{group}_{}", T::NAME);
    let arguments = [
        input.argument(),
        weights.argument(),
        biases.argument(),
        out.argument(),
        means.argument(),
        factors.argument(),
        Argument::F32(FLOOR as f32),
        Argument::U64(rows as u64),
        Argument::U64(columns as u64),
    ];
    kernels.launch(&name, &[rows as u64], &arguments);
    let mut expected = Vec::new();
    for (row, (mean, factor)) in
        a.chunks(columns).zip(means.content().iter().zip(factors.content()))
    {
        let (exact_mean, exact_factor, row) = normalised(row);
        assert!((f64::from(*mean) - exact_mean).abs() < 1e-6, "{name}: {mean} {exact_mean}");
        assert!((f64::from(factor) / exact_factor - 1.0).abs() < 1e-4, "{name}: {factor}");
        let scaled = row.iter().zip(w.iter().zip(&b));
        expected.extend(scaled.map(|(x, (w, b))| x * w.wide() + b.wide()));
    }
    compare(&format!("{name} {rows} x {columns}"), &out.content(), &expected, 2e-5);
}

/// A backward pass: operands, and what must come out.
struct Backward<T: Number> {
    gradients: Vec<T>,
    a: Vec<T>,
    weights: Vec<T>,
    means: Vec<f32>,
    factors: Vec<f32>,
    to_input: Vec<f64>,
    to_weights: Vec<f64>,
    to_biases: Vec<f64>,
}

impl<T: Number> Backward<T> {
    fn new(rows: usize, columns: usize) -> Self {
        let (gradients, a) = (random::<T>(rows * columns, 9), random::<T>(rows * columns, 10));
        let weights = random::<T>(columns, 11);
        let mut pass = Backward {
            means: Vec::new(),
            factors: Vec::new(),
            to_input: Vec::new(),
            to_weights: vec![0.0; columns],
            to_biases: vec![0.0; columns],
            gradients,
            a,
            weights,
        };
        for (a, dy) in pass.a.chunks(columns).zip(pass.gradients.chunks(columns)) {
            let (mean, factor, x) = normalised(a);
            pass.means.push(mean as f32);
            pass.factors.push(factor as f32);
            let g: Vec<f64> =
                dy.iter().zip(&pass.weights).map(|(dy, w)| dy.wide() * w.wide()).collect();
            let mean_g = g.iter().sum::<f64>() / columns as f64;
            let mean_gx = g.iter().zip(&x).map(|(g, x)| g * x).sum::<f64>() / columns as f64;
            pass.to_input
                .extend(g.iter().zip(&x).map(|(g, x)| factor * (g - mean_g - x * mean_gx)));
            for (column, (dy, x)) in dy.iter().zip(&x).enumerate() {
                pass.to_weights[column] += dy.wide() * x;
                pass.to_biases[column] += dy.wide();
            }
        }
        pass
    }
}

fn backward_to_input<T: Number>(
    kernels: &Kernels,
    (group, rows, columns, shift): (&str, usize, usize, usize),
) {
    let pass = Backward::<T>::new(rows, columns);
    let (gradients, a) = (Buffer::shifted(&pass.gradients, shift), Buffer::new(&pass.a));
    let weights = Buffer::new(&pass.weights);
    let (means, factors) = (Buffer::new(&pass.means), Buffer::new(&pass.factors));
    let out = Buffer::<T>::blank(pass.a.len(), 0);
    let name = format!("layer_norm_backward_{group}_{}", T::NAME);
    let arguments = [
        gradients.argument(),
        a.argument(),
        weights.argument(),
        means.argument(),
        factors.argument(),
        out.argument(),
        Argument::U64(rows as u64),
        Argument::U64(columns as u64),
    ];
    kernels.launch(&name, &[rows as u64], &arguments);
    // A row of one or two elements has next to no variance: its factor is large.
    let largest = f64::from(pass.factors.iter().copied().fold(1.0, f32::max));
    compare(&format!("{name} {rows} x {columns}"), &out.content(), &pass.to_input, 2e-5 * largest);
}

fn backward_to_parameters<T: Number>(kernels: &Kernels, rows: usize, columns: usize, strips: u64) {
    let pass = Backward::<T>::new(rows, columns);
    let (gradients, a) = (Buffer::new(&pass.gradients), Buffer::new(&pass.a));
    let (means, factors) = (Buffer::new(&pass.means), Buffer::new(&pass.factors));
    let partials = Buffer::<f32>::blank(2 * strips as usize * columns, 0);
    let [weights, biases] = [(); 2].map(|()| Buffer::<T>::blank(columns, 0));
    let [r, c, s] = [rows as u64, columns as u64, strips].map(Argument::U64);
    let arguments = [
        gradients.argument(),
        a.argument(),
        means.argument(),
        factors.argument(),
        partials.argument(),
        r,
        c,
    ];
    let name = format!("layer_norm_backward_strips_{}", T::NAME);
    kernels.launch(&name, &[columns as u64, strips], &arguments);
    let join = format!("layer_norm_backward_join_{}", T::NAME);
    let arguments = [partials.argument(), weights.argument(), biases.argument(), s, c];
    kernels.launch(&join, &[2 * columns as u64], &arguments);
    partials.content();
    compare(&name, &weights.content(), &pass.to_weights, 2e-4);
    compare(&name, &biases.content(), &pass.to_biases, 2e-5);
}

fn all<T: Number>(kernels: &Kernels) {
    for (group, rows, columns, shift) in SHAPES {
        forward::<T>(kernels, (group, rows, columns, shift));
        // Two rows are held at once, of half the length.
        let columns = if group == "long" { columns } else { columns.div_ceil(2) };
        backward_to_input::<T>(kernels, (group, rows, columns, shift));
    }
    for (rows, columns, strips) in [(1, 1, 1), (3, 33, 2), (101, 70, 5)] {
        backward_to_parameters::<T>(kernels, rows, columns, strips);
    }
}

#[test]
fn layer_norm_of_floats() {
    let Some(kernels) = Kernels::of("layer_norm.cu") else { return };
    all::<f32>(&kernels);
}

#[test]
fn layer_norm_of_16_bit_floats() {
    let Some(kernels) = Kernels::of("layer_norm.cu") else { return };
    all::<Half>(&kernels);
    all::<Brain>(&kernels);
}
