//! What an embedding bag must yield, computed plainly in `f64`, for whichever device did it.
//!
//! Left to others: where operands and results lie, and which of them are compared.

use std::collections::{HashMap, HashSet};

use kernelgauge_data::Optimizer;

use super::super::compare::{Deviation, Precision, Values, sample};
use super::update::{RATE, ROOT_FLOOR};

/// Rows that were looked up whose update is verified, and as many rows at random.
const COMPARED_ROWS: usize = 256;

/// Equal tables and the rows that bags look up in them.
#[derive(Debug, Clone, Copy)]
pub struct Lookups<'lookups> {
    /// Rows of a table.
    pub rows: usize,
    /// Elements of a row.
    pub dim: usize,
    /// Bags of a table.
    pub batch: usize,
    /// Rows within their tables.
    pub indices: &'lookups [i64],
    /// Where each bag begins, and the end.
    pub offsets: &'lookups [i64],
}

impl<'lookups> Lookups<'lookups> {
    /// Bags of all tables.
    pub fn bags(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// The rows that bag `bag` looks up, counted over all tables.
    fn rows_of(self, bag: usize) -> impl Iterator<Item = usize> + 'lookups {
        let first = bag / self.batch * self.rows;
        let range = self.offsets[bag] as usize..self.offsets[bag + 1] as usize;
        self.indices[range].iter().map(move |index| first + *index as usize)
    }

    /// Compares the result of bag `bag`, which is `found`, with the sum of its rows.
    pub fn check_bag(
        &self,
        weights: &impl Values,
        bag: usize,
        found: &[f64],
        precision: Precision,
        deviation: &mut Deviation,
    ) {
        let mut sum = Sum::zero(self.dim);
        for row in self.rows_of(bag) {
            sum.add(|element| weights.at(row * self.dim + element));
        }
        for (element, found) in found.iter().enumerate() {
            let expected = sum.values[element];
            let tolerance = precision.stored(expected, sum.error(element, precision));
            deviation
                .check(*found, expected, tolerance, || format!("bag {bag}, element {element}"));
        }
    }

    /// Rows of which `tables` tables are to be compared after an update: some that are looked
    /// up, and some at random, among which there are rows that nothing looks up.
    pub fn chosen_rows(&self, tables: usize, seed: u64) -> HashSet<usize> {
        let per_table = (self.indices.len() / tables.max(1)).max(1);
        let looked_up = sample(self.indices.len(), COMPARED_ROWS, seed)
            .into_iter()
            .map(|lookup| lookup / per_table * self.rows + self.indices[lookup] as usize);
        looked_up.chain(sample(tables * self.rows, COMPARED_ROWS, seed)).collect()
    }

    /// The gradient of each of `rows`, from all bags.
    pub fn gradients<'row>(
        &self,
        rows: impl Iterator<Item = &'row usize>,
        gradients: &impl Values,
    ) -> HashMap<usize, Sum> {
        let mut sums: HashMap<usize, Sum> = rows.map(|row| (*row, Sum::zero(self.dim))).collect();
        for bag in 0..self.bags() {
            for row in self.rows_of(bag) {
                if let Some(sum) = sums.get_mut(&row) {
                    sum.add(|element| gradients.at(bag * self.dim + element));
                }
            }
        }
        sums
    }
}

/// A row of a table and its running square.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its elements.
    pub weights: Vec<f64>,
    /// The running square of row-wise adagrad, where there is one.
    pub square: Option<f64>,
}

/// A sum of rows, and the sizes of what was added.
#[derive(Debug)]
pub struct Sum {
    terms: f64,
    values: Vec<f64>,
    sizes: Vec<f64>,
}

impl Sum {
    fn zero(dim: usize) -> Self {
        Sum { terms: 0.0, values: vec![0.0; dim], sizes: vec![0.0; dim] }
    }

    fn add(&mut self, at: impl Fn(usize) -> f64) {
        self.terms += 1.0;
        for (element, (sum, size)) in self.values.iter_mut().zip(&mut self.sizes).enumerate() {
            let x = at(element);
            *sum += x;
            *size += x.abs();
        }
    }

    fn error(&self, element: usize, precision: Precision) -> f64 {
        precision.sum_error(self.terms, self.sizes[element])
    }

    fn mean_square(&self) -> f64 {
        self.values.iter().map(|x| x * x).sum::<f64>() / self.values.len() as f64
    }

    /// `(x + d)^2 - x^2` at most, on average, and the error of that average itself.
    fn mean_square_error(&self, precision: Precision) -> f64 {
        let dim = self.values.len() as f64;
        let carried = self.values.iter().enumerate().map(|(element, x)| {
            let error = self.error(element, precision);
            (2.0 * x.abs() + error) * error
        });
        carried.sum::<f64>() / dim + precision.sum_error(dim + 4.0, self.mean_square())
    }

    /// Compares row number `row`, which was `before` and is `found`, with its plain update by
    /// this gradient.
    pub fn check_row(
        &self,
        row: usize,
        [before, found]: [&Row; 2],
        optimizer: Optimizer,
        precision: Precision,
        deviation: &mut Deviation,
    ) {
        let square = before.square.unwrap_or(0.0) + self.mean_square();
        let square_error = self.mean_square_error(precision) + 4.0 * precision.epsilon * square;
        let (scale, scale_error) = match optimizer {
            Optimizer::Sgd | Optimizer::Dense => (RATE, 0.0),
            Optimizer::RowWiseAdagrad => {
                let scale = RATE / (square.sqrt() + ROOT_FLOOR);
                (scale, scale * (square_error / square.max(f64::MIN_POSITIVE)))
            }
        };
        if let Some(found) = found.square {
            deviation.check(found, square, square_error, || format!("running square of row {row}"));
        }
        for (element, found) in found.weights.iter().enumerate() {
            let (old, x) = (before.weights[element], self.values[element]);
            let expected = old - scale * x;
            let error = precision.epsilon * (old.abs() + expected.abs() + 2.0 * (scale * x).abs())
                + scale * self.error(element, precision)
                + scale_error * x.abs();
            // A row that nothing looks up must be what it was.
            let looked_up = self.terms > 0.0;
            let tolerance = if looked_up { precision.stored(expected, error) } else { 0.0 };
            deviation
                .check(*found, expected, tolerance, || format!("row {row}, element {element}"));
        }
    }
}
