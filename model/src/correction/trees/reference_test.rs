//! Our trees against LightGBM 4.7.0 on the same rows with the same hyper-parameters.
//!
//! The features are integers with fewer values than bins, so that both see the same candidate
//! splits; what is left is the order of floating-point sums, our rounding of leaves to 1e-5, and
//! for rows not fitted on the place of a threshold among values that no row of a node has. The
//! figures are what `lightgbm.train` printed for objective `regression`, num_leaves 16,
//! max_depth 6, learning_rate 0.2, min_data_in_leaf 5, lambda_l2 1, min_data_in_bin 1,
//! min_sum_hessian_in_leaf 0 and 40 rounds on rows drawn from the same stream.

use linfa::ParamGuard;
use linfa::prelude::*;
use ndarray::{Array1, Array2};

use super::params::Loss;
use super::{Forest, TreesParams};
use crate::math::Stream;

/// Features and targets.
type Rows = (Array2<f64>, Array1<f64>);

fn rows(stream: &mut Stream, count: usize) -> Rows {
    let mut records = Array2::zeros((count, 4));
    let mut targets = Array1::zeros(count);
    for (mut record, target) in records.outer_iter_mut().zip(&mut targets) {
        for value in &mut record {
            *value = (stream.next() % 40) as f64;
        }
        let noise = (stream.next() % 1001) as f64 / 1000.0 - 0.5;
        let [a, b, c, d] = [record[0], record[1], record[2], record[3]];
        let step = if b > 17.0 { 0.3 } else { 0.0 };
        let product = c * if d > 9.0 { a } else { 5.0 };
        *target = 0.02 * a + step + 0.001 * product + 0.1 * noise;
    }
    (records, targets)
}

/// The forest, the rows it was fitted on, and rows it was not.
fn fitted() -> (Forest, [Rows; 2]) {
    let mut stream = Stream::new(11);
    let (records, targets) = rows(&mut stream, 600);
    let unseen = rows(&mut stream, 200);
    let params = TreesParams::with(|params| {
        (params.rounds, params.leaves, params.bins) = (40, 16, 255);
        (params.learning_rate, params.least_rows, params.ridge) = (0.2, 5, 1.0);
        (params.loss, params.features, params.depth) = (Loss::Huber { clip: 1e9 }, 1.0, 6);
    });
    let forest =
        params.check().unwrap().fit(&Dataset::new(records.clone(), targets.clone())).unwrap();
    (forest, [(records, targets), unseen])
}

fn root_mean_square_error(forest: &Forest, rows: &Rows) -> f64 {
    let errors = forest.predict(&rows.0) - &rows.1;
    (errors.mapv(|error| error * error).sum() / rows.1.len() as f64).sqrt()
}

#[test]
fn fitted_rows_are_predicted_as_lightgbm_does() {
    let (forest, [fitted, unseen]) = fitted();
    let predicted = forest.predict(&fitted.0);
    let expected = [0.743961, 1.090696, 0.707665, 0.641111, 0.030242, 0.780247, 0.8966, 0.852301];
    for (predicted, expected) in predicted.iter().zip(expected) {
        assert!((predicted - expected).abs() < 1e-3, "{predicted}, not {expected}");
    }
    let of_fitted = root_mean_square_error(&forest, &fitted);
    assert!((of_fitted - 0.029031).abs() < 1e-4, "{of_fitted}");
    let of_unseen = root_mean_square_error(&forest, &unseen);
    assert!(of_unseen < 0.094963, "{of_unseen}");
}

#[test]
fn trees_read_back_from_their_text_answer_the_same() {
    let (forest, [_, (unseen, _)]) = fitted();
    let text = serde_json::to_string(&forest.text()).unwrap();
    let again: super::ForestText = serde_json::from_str(&text).unwrap();
    let again = again.forest().unwrap();
    assert_eq!(again.predict(&unseen), forest.predict(&unseen));
    assert_eq!(serde_json::to_string(&again.text()).unwrap(), text);
}

#[test]
fn damaged_trees_are_refused_not_walked() {
    let text = |tree: &str| format!(r#"{{"base":0,"edges":[[3,[1.0]]],"trees":["{tree}"]}}"#);
    let read = |text: &str| serde_json::from_str::<super::ForestText>(text).unwrap().forest();
    // A split at the only edge of the only feature, and two leaves.
    assert_eq!(read(&text("BAAKAL")).unwrap().trees(), 1);
    for (tree, what) in [
        ("BA", "no leaves"),
        ("BAAKA", "half a node"),
        ("BBAKAL", "an edge beyond the last"),
        ("CAAKAL", "a feature without edges"),
        ("AKAL", "a node of nobody"),
        ("Aggggggg9", "a leaf beyond reason"),
        ("", "an empty tree"),
        ("BAAK AL", "a character that is no digit"),
    ] {
        assert!(read(&text(tree)).is_err(), "{what} was accepted");
    }
    let long = "BA".to_owned() + &"AKBA".repeat(24) + "AKAK";
    assert!(read(&text(&long)).is_err(), "a path beyond the longest was accepted");
    assert!(read(&text("BAAKAL").replace("[3,", "[127,")).is_err(), "a feature beyond the last");
}

#[test]
fn hyper_parameters_and_rows_are_checked() {
    assert!(TreesParams::with(|params| params.leaves = 1).check().is_err());
    assert!(TreesParams::with(|params| params.learning_rate = f64::NAN).check().is_err());
    assert!(TreesParams::with(|params| params.depth = 25).check().is_err());
    for clip in [0.0, f64::NAN] {
        assert!(TreesParams::of(120, 31).clipped(clip).check().is_err());
    }
    let params = TreesParams::of(120, 31).check().unwrap();
    let one = |value: f64| Dataset::new(Array2::zeros((1, 1)), Array1::from(vec![value]));
    assert!(params.fit(&one(f64::NAN)).is_err());
    assert_eq!(params.fit(&one(2.0)).unwrap().trees(), 0);
    let none = Dataset::new(Array2::<f64>::zeros((0, 1)), Array1::<f64>::zeros(0));
    assert!(params.fit(&none).is_err());
}
