//! Model files: written, read again, foreign and damaged.

use std::sync::OnceLock;

use kernelgauge_data::{CacheState, Diagnostic};

use crate::tests::{gemm, gemm_table};
use crate::{BasisChoice, FitOptions, Model, PredictError, Query, StoreError};

fn text() -> String {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| Model::fit(&gemm_table(), &FitOptions::default()).unwrap().to_text())
        .clone()
}

#[test]
fn a_model_read_again_answers_the_same_and_is_written_the_same() {
    let model = Model::fit(&gemm_table(), &FitOptions::default()).unwrap();
    let text = model.to_text();
    let again = Model::from_text(&text).unwrap();
    assert!(again.to_text() == text);
    assert_eq!(Model::open(&text).unwrap().to_text(), text);
    for basis in
        [BasisChoice::Best, BasisChoice::Analytical, BasisChoice::Learned, BasisChoice::Hybrid]
    {
        for m in [1, 3, 100, 1024, 5000, 100_000] {
            let point = gemm(m, 1024, 700);
            let cache = CacheState::Unstated;
            let query = Query { point: &point, cache, basis, extrapolate: true };
            assert_eq!(model.predict(&query), again.predict(&query), "m = {m}");
        }
    }
}

#[test]
fn foreign_newer_and_older_files_are_refused_with_both_numbers() {
    // As an unrelated tool of another version writes it.
    let foreign = r#"{"format":"perf-model","format_version":99,"gpu":{"name":"B"},"terms":[]}"#;
    let error = Model::from_text(foreign).unwrap_err().to_string();
    assert!(error.contains("`perf-model`") && error.contains("99"), "{error}");
    let newer = text().replace("\"format_version\": 2", "\"format_version\": 7");
    let error = Model::from_text(&newer).unwrap_err();
    assert_eq!(error, StoreError::Newer { found: 7 });
    assert!(error.to_string().contains("7 is newer than 2"), "{error}");
    let older = r#"{"format":"kernelgauge-model","format_version":1,"variants":[]}"#;
    let error = Model::from_text(older).unwrap_err();
    assert_eq!(error, StoreError::Older { found: 1 });
    assert!(error.hint().unwrap().contains("calibrate fit"));
    assert!(matches!(Model::from_text("[]"), Err(StoreError::Syntax { .. })));
    assert!(matches!(Model::from_text("{}"), Err(StoreError::Foreign { .. })));
    assert!(matches!(Model::from_text(""), Err(StoreError::Syntax { line: 1, .. })));
}

/// Puts `wrong` in the place of what `pattern` is followed by, up to the next `end`.
fn damaged(pattern: &str, end: char, wrong: &str) -> String {
    let text = text();
    let start = text.find(pattern).unwrap() + pattern.len();
    let stop = start + text[start..].find(end).unwrap();
    format!("{}{wrong}{}", &text[..start], &text[stop..])
}

#[test]
fn impossible_numbers_are_refused() {
    for (pattern, end, wrong) in [
        ("\"launch_ns\":", ',', "null"),
        ("\"launch_ns\":", ',', "-3.9e15"),
        ("\"launch_ns\":", ',', "1e999"),
        ("\"flops_per_ns\":", ',', "0"),
        ("\"flops_per_ns\":", ',', "7.8e24"),
        ("\"sharpness\":", '}', "4000000000"),
        ("\"blend\":", ',', "1e9"),
        ("\"unseen\":[", ',', "5"),
        ("\"axis\":", ',', "9"),
        ("\"axis\":", ',', "9223372036854775807"),
        ("\"axis_values\":[", ',', "4096"),
        ("\"detail\": \"", '"', "fuller"),
        // One line of n = k = 256: no points, a time of nothing, a value that is not there, one
        // that is there twice, numbers that end early, and no line at all.
        ("\"points\":\"", '"', "CgQgQA"),
        ("\"points\":\"", '"', "CgQgQBAA"),
        ("\"points\":\"", '"', "CgQgQBNE"),
        ("\"points\":\"", '"', "CgQgQBAEAAABAE"),
        ("\"points\":\"", '"', "CgQgQ_______"),
        ("\"points\":\"", '"', "Cg*"),
        ("\"points\":\"", '"', ""),
    ] {
        let text = damaged(pattern, end, wrong);
        let error = Model::from_text(&text).expect_err(&format!("{pattern}{wrong} was accepted"));
        let named = matches!(error, StoreError::Damaged { .. } | StoreError::Syntax { .. });
        assert!(named, "{pattern}{wrong}: {error}");
        // Opened lazily, the error comes with the question that needs the damaged part.
        if let Ok(model) = Model::open(&text) {
            let point = gemm(8, 256, 256);
            let (cache, basis) = (CacheState::Unstated, BasisChoice::Best);
            let query = Query { point: &point, cache, basis, extrapolate: false };
            assert!(matches!(model.predict(&query), Err(PredictError::Store(_))));
        }
    }
}

#[test]
fn deep_nesting_and_every_cut_end_in_an_error_not_a_panic() {
    let nested = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    assert!(Model::from_text(&nested).is_err());
    let inside = damaged("\"insufficient\": ", '\n', &format!("{nested},"));
    assert!(Model::from_text(&inside).is_err());
    let text = text();
    let step = text.len() / 50;
    for cut in (0..text.len() - 3).step_by(step.max(1)) {
        let cut = (cut..).find(|cut| text.is_char_boundary(*cut)).unwrap_or(0);
        assert!(Model::from_text(&text[..cut]).is_err(), "cut at {cut}");
    }
}
