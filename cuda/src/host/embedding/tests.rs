//! Forward and backward passes on small and awkward shapes.

use kernelgauge_data::{Bytes, Distribution, Dtype};

use super::backward::BackwardKernel;
use super::forward::ForwardKernel;
use super::*;
use crate::host::operand::{Arena, operand_bytes};
use crate::host::real::Real;
use crate::host::workload::Kernel;

/// Tables, rows, dim, batch, pooling.
const SHAPES: [[u64; 5]; 8] = [
    [1, 1, 1, 1, 1],
    [1, 1, 5, 7, 3],
    [2, 3, 17, 5, 4],
    [3, 100, 16, 9, 0],
    [1, 5_000, 64, 128, 20],
    [5, 300, 33, 40, 7],
    [4, 2, 8, 300, 50],
    [7, 70_000, 4, 31, 11],
];

fn point(direction: Direction, optimizer: Optimizer, shape: [u64; 5]) -> EmbeddingPoint {
    let [tables, rows, dim, batch, pooling] = shape;
    let distribution = Distribution::Zipf { exponent_milli: 800 };
    let dtype = Dtype::F32;
    EmbeddingPoint { direction, optimizer, dtype, tables, rows, dim, batch, pooling, distribution }
}

/// Calls `use_parts` with what a kernel is made of.
fn with_parts<R>(
    point: &EmbeddingPoint,
    threads: usize,
    use_parts: impl FnOnce(&mut Carver<'_>, &Threads) -> R,
) -> R {
    let operands = Lengths::of(point).unwrap().bytes(8).unwrap();
    let bytes: u64 = operands.iter().map(|bytes| operand_bytes(*bytes, 1).unwrap()).sum();
    let threads = Threads::new(threads).unwrap();
    let mut arena = Arena::default();
    let mut carver = arena.reserve(Bytes::new(bytes), &threads).unwrap();
    use_parts(&mut carver, &threads)
}

fn forward<T: Real>(shape: [u64; 5], threads: usize) -> Vec<T> {
    let point = point(Direction::Forward, Optimizer::Sgd, shape);
    with_parts(&point, threads, |carver, threads| {
        let mut kernel = ForwardKernel::<T>::new(&point, 3, carver, threads).unwrap();
        threads.run(|| kernel.execute(0, threads));
        kernel.compare().unwrap_or_else(|failure| panic!("{shape:?}: {failure}"));
        kernel.result().to_vec()
    })
}

fn backward<T: Real>(optimizer: Optimizer, shape: [u64; 5], threads: usize) -> Vec<T> {
    let point = point(Direction::Backward, optimizer, shape);
    with_parts(&point, threads, |carver, threads| {
        let mut kernel = BackwardKernel::<T>::new(&point, 3, carver, threads).unwrap();
        for pass in 0..2 {
            kernel.remember();
            threads.run(|| kernel.execute(0, threads));
            kernel.compare().unwrap_or_else(|failure| {
                panic!("{optimizer:?} {shape:?}, pass {pass}: {failure}")
            });
        }
        kernel.result().to_vec()
    })
}

#[test]
fn forward_is_correct_and_the_same_on_any_number_of_threads() {
    for shape in SHAPES {
        let alone = forward::<f32>(shape, 1);
        assert_eq!(alone, forward::<f32>(shape, 2), "{shape:?}");
        forward::<f64>(shape, 3);
    }
}

#[test]
fn bags_without_lookups_are_zero() {
    assert!(forward::<f32>([3, 100, 16, 9, 0], 1).iter().all(|x| *x == 0.0));
}

#[test]
fn backward_is_correct_and_the_same_on_any_number_of_threads() {
    for optimizer in [Optimizer::Sgd, Optimizer::RowWiseAdagrad] {
        for shape in SHAPES {
            let alone = backward::<f32>(optimizer, shape, 1);
            assert_eq!(alone, backward::<f32>(optimizer, shape, 2), "{optimizer:?} {shape:?}");
            assert_eq!(alone, backward::<f32>(optimizer, shape, 3), "{optimizer:?} {shape:?}");
            backward::<f64>(optimizer, shape, 2);
        }
    }
}

#[test]
fn one_wrong_element_is_found_in_both_directions() {
    let shape = [2, 3, 17, 5, 4];
    let ahead = point(Direction::Forward, Optimizer::Sgd, shape);
    with_parts(&ahead, 1, |carver, threads| {
        let mut kernel = ForwardKernel::<f32>::new(&ahead, 3, carver, threads).unwrap();
        kernel.execute(0, threads);
        kernel.result_mut()[100] += 1e-3;
        assert!(matches!(kernel.compare(), Err(Failure::WrongResult(_))));
    });
    for optimizer in [Optimizer::Sgd, Optimizer::RowWiseAdagrad] {
        let back = point(Direction::Backward, optimizer, shape);
        with_parts(&back, 1, |carver, threads| {
            let mut kernel = BackwardKernel::<f32>::new(&back, 3, carver, threads).unwrap();
            kernel.remember();
            kernel.execute(0, threads);
            kernel.result_mut()[40] += 1e-3;
            assert!(matches!(kernel.compare(), Err(Failure::WrongResult(_))), "{optimizer:?}");
        });
    }
}

/// An update that never happened must not pass as one that did.
#[test]
fn a_missing_update_is_found() {
    let back = point(Direction::Backward, Optimizer::Sgd, [1, 50, 8, 20, 5]);
    with_parts(&back, 1, |carver, threads| {
        let mut kernel = BackwardKernel::<f32>::new(&back, 3, carver, threads).unwrap();
        kernel.remember();
        assert!(matches!(kernel.compare(), Err(Failure::WrongResult(_))));
    });
}
