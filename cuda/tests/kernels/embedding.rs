//! Table-batched embedding bags, forward and backward, over tables of different rows, dims and
//! poolings, with plain loops in the same order as the reference.

use std::collections::BTreeMap;

use bytemuck::Pod;
use kernelgauge_cuda::nvidia::kernels::geometry::{KEY_LANES, lanes};
use kernelgauge_cuda::random::Random;

use crate::buffer::Buffer;
use crate::emulator::{Argument, Kernels};
use crate::number::{Half, Number, compare, random};
use crate::sort;

const RATE: f64 = 1e-3;
const FLOOR: f64 = 1e-8;

/// Tables as (rows, dim, most lookups of a bag), samples, elements that weights are off the
/// 16-byte border.
type Case = (&'static [(u64, u64, u64)], u64, usize);

const CASES: [Case; 7] = [
    (&[(1, 1, 1)], 1, 0),
    (&[(5, 4, 3)], 7, 0),
    (&[(100, 64, 20), (3, 64, 40), (1000, 64, 1)], 13, 0),
    (&[(50, 128, 9), (7, 24, 5), (11, 5, 0), (20, 16, 70)], 11, 0),
    (&[(31, 300, 6), (31, 1032, 2)], 5, 0),
    (&[(40, 32, 8)], 9, 1),
    // Rows looked up more than 128 times: the path of long runs.
    (&[(2, 64, 90), (3, 13, 60), (1, 600, 40)], 17, 0),
];

/// Tables, lookups and offsets of one case.
struct Bags {
    tables: Vec<(u64, u64)>,
    batch: u64,
    shift: usize,
    row_offsets: Vec<u64>,
    dim_offsets: Vec<u64>,
    weight_offsets: Vec<u64>,
    bag_offsets: Vec<u64>,
    indices: Vec<u64>,
}

impl Bags {
    fn new((tables, batch, shift): Case) -> Self {
        let mut random = Random::new(7);
        let mut bags = Bags {
            tables: tables.iter().map(|(rows, dim, _)| (*rows, *dim)).collect(),
            batch,
            shift,
            row_offsets: vec![0],
            dim_offsets: vec![0],
            weight_offsets: vec![0],
            bag_offsets: vec![0],
            indices: Vec::new(),
        };
        for (table, (rows, dim, most)) in tables.iter().enumerate() {
            bags.row_offsets.push(bags.row_offsets[table] + rows);
            bags.dim_offsets.push(bags.dim_offsets[table] + dim);
            bags.weight_offsets.push(bags.weight_offsets[table] + rows * dim);
            for _ in 0..batch {
                let lookups = random.below(most + 1);
                bags.indices.extend((0..lookups).map(|_| random.below(*rows)));
                bags.bag_offsets.push(bags.indices.len() as u64);
            }
        }
        bags
    }

    fn weights(&self) -> usize {
        self.weight_offsets[self.tables.len()] as usize
    }

    fn results(&self) -> usize {
        (self.batch * self.dim_offsets[self.tables.len()]) as usize
    }

    fn lanes<T>(&self) -> u32 {
        let widest = self.tables.iter().map(|(_, dim)| *dim).max().unwrap();
        lanes(widest, size_of::<T>() as u64)
    }

    /// Calls `f` with (table, sample, indices) of every bag.
    fn each(&self, mut f: impl FnMut(usize, usize, &[u64])) {
        for (bag, ends) in self.bag_offsets.windows(2).enumerate() {
            let (table, sample) = (bag as u64 / self.batch, bag as u64 % self.batch);
            f(table as usize, sample as usize, &self.indices[ends[0] as usize..ends[1] as usize]);
        }
    }

    /// Where the results or gradients of a bag begin, and how many there are.
    fn result(&self, table: usize, sample: usize) -> (usize, usize) {
        let dim = self.tables[table].1;
        let begin = self.batch * self.dim_offsets[table] + sample as u64 * dim;
        (begin as usize, dim as usize)
    }

    /// The lookups, as 32- or 64-bit numbers.
    fn indices<I: Pod>(&self, of: impl Fn(u64) -> I) -> Buffer<I> {
        let mut indices: Vec<I> = self.indices.iter().map(|index| of(*index)).collect();
        if indices.is_empty() {
            indices.push(of(0));
        }
        Buffer::new(&indices)
    }
}

fn forward<T: Number, I: Pod>(kernels: &Kernels, name: &str, of: impl Fn(u64) -> I + Copy) {
    for case in CASES {
        let bags = Bags::new(case);
        let weights = random::<T>(bags.weights(), 20);
        let table = Buffer::shifted(&weights, bags.shift);
        let (indices, out) = (bags.indices(of), Buffer::<T>::blank(bags.results(), 0));
        let offsets = [&bags.bag_offsets, &bags.weight_offsets, &bags.dim_offsets]
            .map(|offsets| Buffer::new(offsets));
        let lanes = bags.lanes::<T>();
        let tables = bags.tables.len() as u64;
        let mut arguments = vec![table.argument(), indices.argument()];
        arguments.extend(offsets.iter().map(Buffer::argument));
        arguments.extend([
            out.argument(),
            Argument::U64(tables),
            Argument::U64(bags.batch),
            Argument::U32(lanes),
        ]);
        kernels.launch(name, &[bags.batch, tables, u64::from(lanes)], &arguments);
        let mut expected = vec![0.0_f32; bags.results()];
        bags.each(|table, sample, rows| {
            let (begin, dim) = bags.result(table, sample);
            for row in rows {
                let row =
                    &weights[bags.weight_offsets[table] as usize + *row as usize * dim..][..dim];
                for (sum, x) in expected[begin..][..dim].iter_mut().zip(row) {
                    *sum += x.wide() as f32;
                }
            }
        });
        // Rows are added in order, so that not a bit may differ.
        let expected: Vec<T> = expected.into_iter().map(|x| T::of(f64::from(x))).collect();
        assert!(out.content() == expected, "{name}: {:?}", case);
    }
}

#[test]
fn forward_is_a_plain_sum_to_the_bit() {
    let Some(kernels) = Kernels::of("embedding_forward.cu") else { return };
    forward::<f32, i32>(&kernels, "embedding_forward_f32_i32", |index| index as i32);
    forward::<f32, i64>(&kernels, "embedding_forward_f32_i64", |index| index as i64);
    forward::<Half, i32>(&kernels, "embedding_forward_f16_i32", |index| index as i32);
    forward::<Half, i64>(&kernels, "embedding_forward_f16_i64", |index| index as i64);
}

/// Keys of all lookups, from the kernel, and the list of long runs, which it empties.
fn keys<I: Pod>(
    kernels: &Kernels,
    bags: &Bags,
    index: &str,
    of: impl Fn(u64) -> I,
) -> (Vec<u64>, Buffer<u64>) {
    let number = bags.indices.len();
    let (indices, out) = (bags.indices(of), Buffer::<u64>::blank(number, 0));
    let list = Buffer::<u64>::blank(number + 1, 0);
    let (offsets, rows) = (Buffer::new(&bags.bag_offsets), Buffer::new(&bags.row_offsets));
    let tables = bags.tables.len() as u64;
    let arguments = [
        indices.argument(),
        offsets.argument(),
        rows.argument(),
        out.argument(),
        list.argument(),
        Argument::U64(tables),
        Argument::U64(bags.batch),
    ];
    let extent = [bags.batch, tables, u64::from(KEY_LANES)];
    kernels.launch(&format!("embedding_keys_{index}"), &extent, &arguments);
    (out.content(), list)
}

/// The sum of all gradients of each row that is looked up: (table, row within it) to sum.
fn summed<T: Number>(bags: &Bags, gradients: &[T]) -> BTreeMap<(usize, u64), Vec<f64>> {
    let mut sums: BTreeMap<(usize, u64), Vec<f64>> = BTreeMap::new();
    bags.each(|table, sample, rows| {
        let (begin, dim) = bags.result(table, sample);
        for row in rows {
            let sum = sums.entry((table, *row)).or_insert_with(|| vec![0.0; dim]);
            for (sum, x) in sum.iter_mut().zip(&gradients[begin..][..dim]) {
                *sum += x.wide();
            }
        }
    });
    sums
}

/// The keys of all lookups, in order and then sorted by row, checked on the way.
fn sorted(kernels: &Kernels, sorting: &Kernels, bags: &Bags) -> Vec<u64> {
    let (found, list) = keys(kernels, bags, "i64", |index| index as i64);
    assert_eq!(list.content()[0], 0);
    assert_eq!(found, keys(kernels, bags, "i32", |index| index as i32).0);
    let mut expected = Vec::new();
    bags.each(|table, sample, rows| {
        let bag = table as u64 * bags.batch + sample as u64;
        expected.extend(rows.iter().map(|row| ((bags.row_offsets[table] + row) << 32) | bag));
    });
    assert_eq!(found, expected);
    let all_rows = bags.row_offsets[bags.tables.len()];
    sort::by_row(sorting, &found, u64::BITS - all_rows.leading_zeros())
}

/// Updates, compares, and returns how many runs were long.
fn backward<T: Number>(kernels: &Kernels, bags: &Bags, sorted: &[u64], optimizer: &str) -> u64 {
    let number = sorted.len() as u64;
    let all_rows = bags.row_offsets[bags.tables.len()];
    // A list of long runs that holds none yet.
    let list = Buffer::new(&vec![0_u64; sorted.len() + 1]);
    let keys = Buffer::new(sorted);
    let (before, gradients) = (random::<T>(bags.weights(), 21), random::<T>(bags.results(), 22));
    let squares: Vec<f32> = (0..all_rows).map(|row| row as f32 * 0.01).collect();
    let weights = Buffer::shifted(&before, bags.shift);
    let (gradient, running) = (Buffer::new(&gradients), Buffer::new(&squares));
    let offsets = [&bags.row_offsets, &bags.weight_offsets, &bags.dim_offsets]
        .map(|offsets| Buffer::new(offsets));
    let mut arguments = vec![
        keys.argument(),
        Argument::U64(number),
        gradient.argument(),
        weights.argument(),
        running.argument(),
    ];
    arguments.extend(offsets.iter().map(Buffer::argument));
    arguments.extend([
        Argument::U64(bags.batch),
        Argument::F32(RATE as f32),
        Argument::F32(FLOOR as f32),
        list.argument(),
    ]);
    let lanes = bags.lanes::<T>();
    let short = format!("embedding_backward_short_{optimizer}_{}", T::NAME);
    let with_lanes = [arguments.clone(), vec![Argument::U32(lanes)]].concat();
    kernels.launch(&short, &[number, u64::from(lanes)], &with_lanes);
    let long = format!("embedding_backward_long_{optimizer}_{}", T::NAME);
    kernels.launch(&long, &[], &arguments);

    let mut expected: Vec<f64> = before.iter().map(|x| x.wide()).collect();
    let mut expected_squares: Vec<f64> = squares.iter().map(|x| f64::from(*x)).collect();
    for ((table, row), sum) in summed(bags, &gradients) {
        let mut rate = RATE;
        if optimizer == "rowwise_adagrad" {
            let square = &mut expected_squares[(bags.row_offsets[table] + row) as usize];
            *square += sum.iter().map(|x| x * x).sum::<f64>() / sum.len() as f64;
            rate = RATE / (square.sqrt() + FLOOR);
        }
        let begin = bags.weight_offsets[table] as usize + row as usize * sum.len();
        for (weight, x) in expected[begin..].iter_mut().zip(&sum) {
            *weight -= rate * x;
        }
    }
    let what = format!("{short} {:?} x {}", bags.tables, bags.batch);
    compare(&what, &weights.content(), &expected, 1e-6);
    for (found, expected) in running.content().iter().zip(&expected_squares) {
        assert!(
            (f64::from(*found) - expected).abs() <= 1e-4 * expected,
            "{what}: {found} {expected}"
        );
    }
    list.content()[0]
}

#[test]
fn backward_updates_each_row_once() {
    let Some(kernels) = Kernels::of("embedding_backward.cu") else { return };
    let Some(sorting) = Kernels::of("sort.cu") else { return };
    let mut long = 0;
    for case in CASES {
        let bags = Bags::new(case);
        if bags.indices.is_empty() {
            continue;
        }
        let sorted = sorted(&kernels, &sorting, &bags);
        for optimizer in ["sgd", "rowwise_adagrad"] {
            long += backward::<f32>(&kernels, &bags, &sorted, optimizer);
            long += backward::<Half>(&kernels, &bags, &sorted, optimizer);
        }
    }
    assert!(long > 0, "no case has a run for a whole block");
}
