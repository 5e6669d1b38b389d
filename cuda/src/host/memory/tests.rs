//! Every op on shapes that fit no vector, tile or piece.

use kernelgauge_data::{Bytes, Dtype};

use super::*;
use crate::host::operand::{Arena, operand_bytes};

const SHAPES: [(u64, u64); 9] = [
    (1, 2),
    (3, 18),
    (17, 4),
    (31, 66),
    (64, 64),
    (130, 70),
    (1, 200_002),
    (3, 70_000),
    (1_000, 130),
];

/// Runs `use_kernel` on a kernel that has been executed once.
fn executed<T: Real, R>(
    (op, rows, columns): (MemoryOp, u64, u64),
    threads: usize,
    use_kernel: impl FnOnce(&mut MemoryKernel<'_, T>) -> R,
) -> R {
    let dtype = if size_of::<T>() == 4 { Dtype::F32 } else { Dtype::F64 };
    let point = MemoryPoint { op, dtype, rows, columns };
    let threads = Threads::new(threads).unwrap();
    let lengths = lengths(&point).unwrap().into_iter().chain([point.statistics().0]);
    let bytes = lengths.map(|length| operand_bytes(8 * length, 2).unwrap()).sum();
    let mut arena = Arena::default();
    let mut carver = arena.reserve(Bytes::new(bytes), &threads).unwrap();
    let mut kernel = MemoryKernel::<T>::new(&point, 2, 7, &mut carver).unwrap();
    threads.run(|| kernel.execute(0, &threads));
    use_kernel(&mut kernel)
}

fn correct_and_independent_of_threads<T: Real>() {
    for op in MemoryOp::ALL {
        for (rows, columns) in SHAPES {
            if op == MemoryOp::Triangle && columns > 130 {
                continue; // Squares of it would take gigabytes.
            }
            let run = |threads| {
                executed((op, rows, columns), threads, |kernel: &mut MemoryKernel<'_, T>| {
                    kernel.compare().unwrap_or_else(|failure| {
                        panic!("{op} {rows} x {columns}, {threads} threads: {failure}")
                    });
                    kernel.result.slot(0).to_vec()
                })
            };
            let alone = run(1);
            assert_eq!(alone, run(2), "{op} {rows} x {columns}: 2 threads differ");
            assert_eq!(alone, run(3), "{op} {rows} x {columns}: 3 threads differ");
        }
    }
}

#[test]
fn single_precision_is_correct_on_any_number_of_threads() {
    correct_and_independent_of_threads::<f32>();
}

#[test]
fn double_precision_is_correct_on_any_number_of_threads() {
    correct_and_independent_of_threads::<f64>();
}

#[test]
fn one_wrong_element_is_found() {
    for op in MemoryOp::ALL {
        executed((op, 5, 18), 1, |kernel: &mut MemoryKernel<'_, f32>| {
            let middle = kernel.result.slot(0).len() / 2;
            kernel.result.slot_mut(0)[middle] += 1e-3;
            let Err(Failure::WrongResult(what)) = kernel.compare() else {
                panic!("{op}: a wrong element passed")
            };
            assert!(what.contains("instead of"), "{what}");
        });
    }
}

#[test]
fn only_the_asked_copy_is_written() {
    executed((MemoryOp::Fill, 3, 5), 1, |kernel: &mut MemoryKernel<'_, f32>| {
        assert!(kernel.result.slot(0).iter().all(|x| *x == 1.5));
        assert!(kernel.result.slot(1).iter().all(|x| *x == 0.0));
    });
}

/// The reference itself, against values worked out by hand for the rows (1, -2) and (3, 4).
#[test]
fn the_reference_is_right_on_small_known_inputs() {
    let first = [1.0, -2.0, 3.0, 4.0];
    let second = [10.0, 20.0, 30.0, 40.0];
    for (op, result) in known_results() {
        compare(op, [&first, &second], &result).unwrap_or_else(|what| panic!("{op}: {what}"));
    }
    // Halves of one column each: the first input holds the left ones, the second the right ones.
    let halves: [&[f64]; 2] = [&[1.0, 2.0], &[3.0, 4.0]];
    assert!(compare(MemoryOp::Concat, halves, &[1.0, 3.0, 2.0, 4.0]).is_ok());
    assert!(compare(MemoryOp::Concat, halves, &[1.0, 2.0, 3.0, 4.0]).is_err());
    // Two squares, of which one element each lies below the diagonal.
    let squares: [&[f64]; 2] = [&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], &[]];
    assert!(compare(MemoryOp::Triangle, squares, &[3.0, 7.0]).is_ok());
    assert!(compare(MemoryOp::Triangle, squares, &[2.0, 6.0]).is_err());
}

/// In a row of two elements x is 1 - d and d - 1, where d is what the floor of the variance takes
/// away; without it g - mean(g) - x mean(g x) were nothing.
#[test]
fn gradients_of_two_columns_are_what_the_floor_leaves() {
    let gradients = [1.0, -2.0, 3.0, 4.0];
    // Rows (1, -2) and (3, 4), then weights of 1 and 2: g is (1, -4) and (3, 8).
    let forward = [1.0, -2.0, 3.0, 4.0, 1.0, 2.0];
    let left = |half: f64, difference: f64| {
        let factor = 1.0 / (half * half + 1e-5).sqrt();
        difference * factor * (1.0 - (half * factor).powi(2))
    };
    let (first, second) = (left(1.5, 2.5), left(0.5, -2.5));
    let result = [first, -first, second, -second];
    compare(MemoryOp::LayerNormBackward, [&gradients, &forward], &result).unwrap();
    let wrong = [first, first, second, -second];
    assert!(compare(MemoryOp::LayerNormBackward, [&gradients, &forward], &wrong).is_err());
}

/// Compares every unit of the `result` of `op` on two matrices of 2 by 2.
fn compare(op: MemoryOp, [first, second]: [&[f64]; 2], result: &[f64]) -> Result<(), Failure> {
    let precision = Precision::of::<f64>();
    let seed = 0;
    let reference =
        reference::Reference { op, rows: 2, columns: 2, first, second, precision, seed };
    let mut deviation = Deviation::default();
    for (unit, found) in result.chunks(reference.unit()).enumerate() {
        reference.check(unit, found, &mut deviation);
    }
    deviation.verdict()
}

fn known_results() -> Vec<(MemoryOp, Vec<f64>)> {
    let logistic = |x: f64| 1.0 / (1.0 + (-x).exp());
    let gelu = [
        0.841_191_990_608_276_8,
        -0.045_402_305_912_224_94,
        2.996_362_607_918_227,
        3.999_929_754_051_807_5,
    ];
    // Both rows have two elements: half their distance is the deviation from the mean.
    let (wide, narrow) = ((2.25_f64 + 1e-5).sqrt(), (0.25_f64 + 1e-5).sqrt());
    let normalised = vec![
        1.5 / wide * 10.0 + 30.0,
        -1.5 / wide * 20.0 + 40.0,
        -0.5 / narrow * 10.0 + 30.0,
        0.5 / narrow * 20.0 + 40.0,
    ];
    vec![
        (MemoryOp::Add, vec![11.0, 18.0, 33.0, 44.0]),
        (MemoryOp::Scale, vec![1.5, -3.0, 4.5, 6.0]),
        (MemoryOp::Relu, vec![1.0, 0.0, 3.0, 4.0]),
        (MemoryOp::Sigmoid, [1.0, -2.0, 3.0, 4.0].map(logistic).to_vec()),
        (MemoryOp::Gelu, gelu.to_vec()),
        (MemoryOp::Sum, vec![-1.0, 7.0]),
        // Of two elements, softmax is the logistic function of their difference.
        (MemoryOp::Softmax, [3.0, -3.0, -1.0, 1.0].map(logistic).to_vec()),
        (MemoryOp::LayerNorm, normalised),
        (MemoryOp::Transpose, vec![1.0, 3.0, -2.0, 4.0]),
        (MemoryOp::Fill, vec![1.5; 4]),
        (MemoryOp::Cast, vec![1.0, -2.0, 3.0, 4.0]),
        // The first four words of Philox with seed 0 begin with 6, e, b and 9: none is below a
        // tenth of 2^32.
        (MemoryOp::Dropout, [1.0, -2.0, 3.0, 4.0].map(|x| x / 0.9).to_vec()),
    ]
}
