//! Trees of absolute values against cases worked by hand.

use linfa::ParamGuard;
use linfa::prelude::*;
use ndarray::{Array1, Array2};

use super::params::Loss;
use super::{Forest, TreesParams};

/// One stump a round, taken whole but for `ridge`, on one feature.
fn stumps(rounds: usize, loss: Loss, ridge: f64, rows: &[(f64, f64)]) -> Forest {
    let records = Array2::from_shape_fn((rows.len(), 1), |(row, _)| rows[row].0);
    let targets: Array1<f64> = rows.iter().map(|row| row.1).collect();
    let params = TreesParams::with(|params| {
        (params.rounds, params.leaves, params.loss) = (rounds, 2, loss);
        (params.learning_rate, params.least_rows, params.ridge) = (1.0, 2, ridge);
    });
    params.check().unwrap().fit(&Dataset::new(records, targets)).unwrap()
}

fn answers(forest: &Forest, features: &[f64]) -> Vec<f64> {
    let records = Array2::from_shape_fn((features.len(), 1), |(row, _)| features[row]);
    forest.predict(&records).to_vec()
}

fn assert_near(answers: &[f64], expected: &[f64]) {
    assert_eq!(answers.len(), expected.len());
    for (answer, expected) in answers.iter().zip(expected) {
        assert!((answer - expected).abs() < 2e-5, "{answers:?}, not {expected}");
    }
}

/// Two plateaus of five rows; one row of the second is a hundred times off.
const PLATEAUS: [(f64, f64); 10] = [
    (0.0, 0.10),
    (0.0, 0.11),
    (0.0, 0.12),
    (0.0, 0.13),
    (0.0, 0.14),
    (1.0, 0.20),
    (1.0, 0.21),
    (1.0, 0.22),
    (1.0, 0.23),
    (1.0, 20.0),
];

#[test]
fn a_leaf_answers_the_median_of_its_rows() {
    // The base is the median of all, (0.14 + 0.20) / 2; the leaves take what is left of it to
    // the medians of the plateaus, 0.12 and 0.22. Means would have been 0.12 and 4.172.
    let forest = stumps(1, Loss::Absolute, 0.0, &PLATEAUS);
    assert_eq!(forest.trees(), 1);
    assert_near(&answers(&forest, &[0.0, 1.0]), &[0.12, 0.22]);
    let squares = stumps(1, Loss::Huber { clip: 1e9 }, 0.0, &PLATEAUS);
    assert_near(&answers(&squares, &[0.0, 1.0]), &[0.12, 4.172]);
}

#[test]
fn a_split_gains_by_the_sides_of_its_rows_alone() {
    // Signs about the median 0.165: of the features 0, 1, 2 and 3 (-1, -1, +1, -1), (-1, -1),
    // (+1, +1, +1) and (+1, -1, 20 counting as +1). Behind feature 1 gains
    // (-4)^2 / 6 + 4^2 / 6 = 16 / 3, the others less: 4 / 4 + 4 / 8 and 1 / 9 + 1 / 3. Squares
    // would split off feature 3 with its row of 20.
    let rows = [
        (0.0, 0.10),
        (0.0, 0.11),
        (0.0, 0.20),
        (0.0, 0.12),
        (1.0, 0.13),
        (1.0, 0.14),
        (2.0, 0.19),
        (2.0, 0.21),
        (2.0, 0.22),
        (3.0, 0.23),
        (3.0, 0.10),
        (3.0, 20.0),
    ];
    let absolute = answers(&stumps(1, Loss::Absolute, 0.0, &rows), &[0.0, 1.0, 2.0, 3.0]);
    // Medians of 0.10, 0.11, 0.12, 0.13, 0.14, 0.20 and of 0.10, 0.19, 0.21, 0.22, 0.23, 20.
    assert_near(&absolute, &[0.125, 0.125, 0.215, 0.215]);
    let squares = answers(&stumps(1, Loss::Huber { clip: 1e9 }, 0.0, &rows), &[0.0, 1.0, 2.0, 3.0]);
    assert_eq!(squares[0], squares[2]);
    assert!(squares[3] > 6.0, "{squares:?}");
}

#[test]
fn an_outlier_that_moves_the_mean_past_all_rows_keeps_nothing_from_being_learned() {
    // The mean, 2.146, lies above all rows but one. From there the signs of the plateaus sum to
    // -5 and -3, of all to -8, and a split would lose: 25 / 6 + 9 / 6 is less than 64 / 11. From
    // the median, each round takes five sixths of what is left.
    let forest = stumps(7, Loss::Absolute, 1.0, &PLATEAUS);
    assert_near(&answers(&forest, &[0.0, 1.0]), &[0.12, 0.22]);
}

#[test]
fn the_settings_for_heavy_tails_follow_the_size_asked_for() {
    let checked = |trees, leaves| TreesParams::of(trees, leaves).absolute().check().unwrap();
    let standard = checked(175, 127);
    assert_eq!((standard.rounds, standard.leaves, standard.depth), (175, 31, 10));
    assert_eq!((standard.learning_rate, standard.least_rows), (0.1, 10));
    assert_eq!(standard.loss, Loss::Absolute);
    let small = checked(60, 15);
    assert_eq!((small.rounds, small.leaves, small.depth), (60, 15, 8));
}
