//! Kernels that move elements without changing them: transpose, concat, triangles.

use bytemuck::Pod;

use crate::buffer::Buffer;
use crate::emulator::{Argument, Kernels};

/// 4- and 2-byte elements, all different as far as they can be.
trait Word: Pod + PartialEq + std::fmt::Debug + Default {
    fn numbered(number: usize) -> Self;
}

impl Word for u32 {
    fn numbered(number: usize) -> Self {
        number as u32 + 1
    }
}

impl Word for u16 {
    fn numbered(number: usize) -> Self {
        (number % 65_535) as u16 + 1
    }
}

fn numbered<T: Word>(count: usize) -> Vec<T> {
    (0..count).map(T::numbered).collect()
}

fn number(count: usize) -> Argument {
    Argument::U64(count as u64)
}

fn transpose<T: Word>(kernels: &Kernels) {
    for (rows, columns) in [(1, 1), (1, 70), (67, 1), (32, 64), (33, 65), (130, 97)] {
        let a = numbered::<T>(rows * columns);
        let (input, out) = (Buffer::new(&a), Buffer::<T>::blank(a.len(), 0));
        let name = format!("transpose_{}", size_of::<T>());
        let arguments = [input.argument(), out.argument(), number(rows), number(columns)];
        kernels.launch(&name, &[rows as u64, columns as u64], &arguments);
        let out = out.content();
        for (place, word) in a.iter().enumerate() {
            let (row, column) = (place / columns, place % columns);
            assert_eq!(out[column * rows + row], *word, "{name} {rows} x {columns}");
        }
    }
}

fn concat<T: Word>(kernels: &Kernels) {
    for (rows, left, right, shift) in [
        (1, 1, 1, 0),
        (5, 3, 7, 0),
        (9, 64, 64, 0),
        (9, 64, 8, 1),
        (3, 1021, 1021, 0),
        (70, 8, 16, 0),
    ] {
        let (a, b) = (numbered::<T>(rows * left), numbered::<T>(rows * right));
        let (first, second) = (Buffer::shifted(&a, shift), Buffer::new(&b));
        let out = Buffer::<T>::blank(a.len() + b.len(), 0);
        let name = format!("concat_{}", size_of::<T>());
        let operands = [first.argument(), second.argument(), out.argument()];
        let arguments = [operands, [number(rows), number(left), number(right)]].concat();
        kernels.launch(&name, &[rows as u64, left as u64], &arguments);
        let lines = a.chunks(left).zip(b.chunks(right));
        let expected: Vec<T> = lines.flat_map(|(a, b)| [a, b].concat()).collect();
        assert_eq!(out.content(), expected, "{name} {rows} x ({left} + {right})");
    }
}

fn triangle<T: Word>(kernels: &Kernels) {
    for (batch, side) in [(1, 2), (3, 5), (70, 27), (2, 101)] {
        let (squares, pairs) = (side * side, side * (side - 1) / 2);
        let a = numbered::<T>(batch * squares);
        let (input, out) = (Buffer::new(&a), Buffer::<T>::blank(batch * pairs, 0));
        let back = Buffer::<T>::blank(batch * squares, 0);
        let bytes = size_of::<T>();
        let sizes = [number(batch), number(side)];
        let gather = [[input.argument(), out.argument()], sizes].concat();
        kernels.launch(&format!("triangle_gather_{bytes}"), &[batch as u64, pairs as u64], &gather);
        let scatter = [[out.argument(), back.argument()], sizes].concat();
        kernels.launch(
            &format!("triangle_scatter_{bytes}"),
            &[batch as u64, squares as u64],
            &scatter,
        );
        let mut expected = Vec::new();
        let mut expected_back = vec![T::default(); batch * squares];
        for sample in 0..batch {
            for row in 0..side {
                for column in 0..row {
                    let place = sample * squares + row * side + column;
                    expected.push(a[place]);
                    expected_back[place] = a[place];
                }
            }
        }
        assert_eq!(out.content(), expected, "{batch} of {side}");
        assert_eq!(back.content(), expected_back, "{batch} of {side}, back");
    }
}

#[test]
fn transposes() {
    let Some(kernels) = Kernels::of("transpose.cu") else { return };
    transpose::<u32>(&kernels);
    transpose::<u16>(&kernels);
}

#[test]
fn concats() {
    let Some(kernels) = Kernels::of("concat.cu") else { return };
    concat::<u32>(&kernels);
    concat::<u16>(&kernels);
}

#[test]
fn triangles() {
    let Some(kernels) = Kernels::of("triangle.cu") else { return };
    triangle::<u32>(&kernels);
    triangle::<u16>(&kernels);
}
