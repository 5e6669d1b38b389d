//! Whole models of small tables: what is answered, what is refused, what stays the same.

use std::collections::BTreeMap;

use kernelgauge_data::{
    AttentionPhase, AttentionPoint, CacheState, Collective, CollectivePoint, Conditions,
    CustomPoint, DataSet, Diagnostic, Dtype, Family, Flags, GemmLayout, GemmPoint, Hardware,
    InputContent, Links, Machine, Manifest, Measurement, Nanos, Origin, Outcome, Point, Record,
};

use crate::{
    Basis, BasisChoice, DomainStatus, FitError, FitOptions, Model, Never, PredictError, Prediction,
    Query, ReferenceModel,
};

pub(crate) fn record(point: Point, time_us: f64) -> Record {
    Record {
        point,
        conditions: Conditions::default(),
        outcome: Outcome::Measured(Measurement::stated(Nanos::from_us(time_us).unwrap())),
        flags: Flags::NONE,
    }
}

pub(crate) fn data_set(records: Vec<Record>) -> DataSet {
    let machine = Machine {
        name: "synthetic-one".to_owned(),
        device: "synthetic".to_owned(),
        count: 1,
        links: Links::Unstated,
        software: BTreeMap::new(),
        hardware: Hardware {
            units: Some(100),
            memory_gb_s: Some(2000.0),
            cache_bytes: Some(40 << 20),
            peak_tflop_s: BTreeMap::from([("bf16".to_owned(), 300.0)]),
            ..Hardware::default()
        },
    };
    DataSet { manifest: Manifest::new(machine, Origin::Synthetic), records }
}

pub(crate) fn gemm(m: u64, n: u64, k: u64) -> Point {
    Point::Gemm(GemmPoint { dtype: Dtype::Bf16, batch: 1, m, n, k, layout: GemmLayout::Unstated })
}

/// A table of products whose times follow a roofline with a launch floor.
pub(crate) fn gemm_table() -> DataSet {
    let mut records = Vec::new();
    for n in [256, 1024, 4096] {
        for k in [256, 1024, 4096] {
            for log in 0..13 {
                let point = gemm(1 << log, n, k);
                let work = point.work();
                let us = 3.0 + (work.flops / 240e6).max(work.bytes() / 1.6e6);
                records.push(record(point, us));
            }
        }
    }
    data_set(records)
}

fn fitted(data: &DataSet) -> Model {
    Model::fit(data, &FitOptions::default()).unwrap()
}

fn ask(model: &Model, point: &Point, extrapolate: bool) -> Result<Prediction, PredictError> {
    let (cache, basis) = (CacheState::Unstated, BasisChoice::Best);
    model.predict(&Query { point, cache, basis, extrapolate })
}

#[test]
fn a_measured_point_is_returned_as_measured_and_one_between_lies_between() {
    let data = gemm_table();
    let model = fitted(&data);
    for record in &data.records {
        let answer = ask(&model, &record.point, false).unwrap();
        assert_eq!((answer.time, answer.basis), (record.time().unwrap(), Basis::Measured));
        assert!(answer.low <= answer.time && answer.time <= answer.high);
    }
    let between = ask(&model, &gemm(3000, 4096, 4096), false).unwrap();
    let time = |m| ask(&model, &gemm(m, 4096, 4096), false).unwrap().time;
    assert!(time(2048) < between.time && between.time < time(4096));
    assert_eq!(between.domain, DomainStatus::Inside);
}

#[test]
fn far_outside_is_refused_with_the_ratio_unless_asked_and_then_grows_with_the_work() {
    let model = fitted(&gemm_table());
    let error = ask(&model, &gemm(65536, 4096, 4096), false).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("m = 65536 is 16 times the largest m"), "{text}");
    assert!(error.hint().unwrap().contains("--extrapolate"));
    let near = ask(&model, &gemm(8192, 4096, 4096), false).unwrap();
    assert_eq!((near.domain, near.basis), (DomainStatus::Near, Basis::Extrapolated));

    let mut before = ask(&model, &gemm(4096, 4096, 4096), true).unwrap();
    for log in 13..=22 {
        let answer = ask(&model, &gemm(1 << log, 4096, 4096), true).unwrap();
        assert!(answer.time >= before.time, "m = 2^{log}");
        let width = |answer: &Prediction| answer.high.as_f64() / answer.low.as_f64();
        assert!(log <= 14 || width(&answer) >= width(&before) * 0.999, "m = 2^{log}");
        before = answer;
    }

    // A thousand times the range is the end of it.
    let error = ask(&model, &gemm(1 << 23, 4096, 4096), true).unwrap_err();
    assert!(
        matches!(&error, PredictError::Outside { never: Some(n), .. } if **n == Never::TooFar),
        "{error}"
    );
    assert!(error.hint().unwrap().starts_with("nothing is extrapolated this far"));
}

#[test]
fn every_basis_answers_and_says_so() {
    let model = fitted(&gemm_table());
    let point = gemm(3000, 4096, 4096);
    for (basis, expected) in [
        (BasisChoice::Analytical, Basis::Analytical),
        (BasisChoice::Learned, Basis::Learned),
        (BasisChoice::Reference(ReferenceModel::Roofline), Basis::Reference),
    ] {
        let query = Query { point: &point, cache: CacheState::Unstated, basis, extrapolate: false };
        let answer = model.predict(&query).unwrap();
        assert_eq!(answer.basis, expected);
        let truth = ask(&model, &point, false).unwrap().time.as_f64();
        let ratio = answer.time.as_f64() / truth;
        assert!((0.5..2.0).contains(&ratio), "{expected}: {ratio}");
    }
    let basis = BasisChoice::Reference(ReferenceModel::Sigmoid);
    let query = Query { point: &point, cache: CacheState::Unstated, basis, extrapolate: false };
    assert!(matches!(model.predict(&query), Err(PredictError::NoReference { .. })));
}

#[test]
fn what_the_machine_lacks_is_named_with_what_it_has() {
    let model = fitted(&gemm_table());
    let mut point = GemmPoint {
        dtype: Dtype::Fp8,
        batch: 1,
        m: 8,
        n: 256,
        k: 256,
        layout: GemmLayout::Unstated,
    };
    let error = ask(&model, &Point::Gemm(point), false).unwrap_err();
    assert_eq!(error.to_string(), "synthetic-one has no gemm measurements of `fp8`");
    assert!(error.hint().unwrap().contains("bf16"));
    point.m = 0;
    assert!(matches!(ask(&model, &Point::Gemm(point), true), Err(PredictError::Point(_))));
    let custom = custom(&[("n", 4)], "mystery");
    let error = ask(&model, &custom, false).unwrap_err();
    assert_eq!(error.to_string(), "synthetic-one has no custom measurements");
    assert_eq!(error.hint().unwrap(), "it has gemm");
}

/// Whoever does not say how the operands lie is answered with the usual layout where it was
/// measured by name, and never with another.
#[test]
fn a_question_without_a_layout_means_that_of_a_linear_layer() {
    let mut data = gemm_table();
    let stated = |record: &Record, layout| match &record.point {
        Point::Gemm(gemm) => Point::Gemm(GemmPoint { layout, ..*gemm }),
        other => other.clone(),
    };
    for record in &mut data.records {
        record.point = stated(record, GemmLayout::Nt);
    }
    let model = fitted(&data);
    let unstated = gemm(64, 1024, 1024);
    let Point::Gemm(shape) = unstated else { panic!("no product") };
    let nt = Point::Gemm(GemmPoint { layout: GemmLayout::Nt, ..shape });
    let answer = ask(&model, &unstated, false).unwrap();
    assert_eq!(answer, ask(&model, &nt, false).unwrap());
    assert_eq!(answer.basis, Basis::Measured);
    let nn = Point::Gemm(GemmPoint { layout: GemmLayout::Nn, ..shape });
    let error = ask(&model, &nn, false).unwrap_err();
    assert_eq!(error.to_string(), "synthetic-one has no gemm measurements of `bf16/nn`");
    // What no one stated is no answer for what is.
    let error = ask(&fitted(&gemm_table()), &nt, false).unwrap_err();
    assert_eq!(error.to_string(), "synthetic-one has no gemm measurements of `bf16/nt`");
}

fn custom(parameters: &[(&str, u64)], op: &str) -> Point {
    let parameters = parameters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    Point::Custom(CustomPoint { op: op.to_owned(), parameters })
}

/// Only one batch size was measured: the time of batch 1 is no answer for batch 8.
#[test]
fn an_axis_without_spread_is_not_calibrated() {
    let attention = |batch, kv_len| {
        Point::Attention(AttentionPoint {
            phase: AttentionPhase::Context,
            dtype: Dtype::Bf16,
            kv_dtype: Dtype::Bf16,
            batch,
            heads: 32,
            kv_heads: 32,
            head_dim: 128,
            query_len: kv_len,
            kv_len,
            window: 0,
        })
    };
    let times = [(128, 6.018), (256, 6.073), (512, 6.291), (1024, 7.165), (2048, 10.660)];
    let records = times.iter().map(|(len, us)| record(attention(1, *len), *us)).collect();
    let model = fitted(&data_set(records));
    assert_eq!(ask(&model, &attention(1, 512), false).unwrap().time, Nanos::new(6291));
    assert!(ask(&model, &attention(1, 700), false).is_ok());
    for batch in [2, 8] {
        let error = ask(&model, &attention(batch, 512), false).unwrap_err().to_string();
        assert!(error.contains("only at batch = 1"), "{error}");
    }
}

/// Seven points within 0.6 % while the batch grows 64-fold: any slope is noise.
#[test]
fn a_flat_table_is_insufficient_not_a_falling_line() {
    let times = [99.866, 99.606, 100.213, 99.912, 100.253, 100.047, 99.760];
    let flat: Vec<Record> = times
        .iter()
        .enumerate()
        .map(|(log, us)| record(custom(&[("batch", 1 << log)], "flat"), *us))
        .collect();
    let error = Model::fit(&data_set(flat.clone()), &FitOptions::default()).unwrap_err();
    assert!(matches!(error, FitError::Insufficient { .. }));
    assert!(error.to_string().contains("no load signal"), "{error}");
    // More points of the same would not help.
    assert!(error.hint().unwrap().starts_with("measure larger sizes"), "{error:?}");
    let few = Model::fit(&data_set(flat[..2].to_vec()), &FitOptions::default()).unwrap_err();
    assert!(few.hint().unwrap().starts_with("measure at least four points"), "{few:?}");

    // Beside a variant that can be fitted it is listed, and asked for it is refused.
    let mut records = gemm_table().records;
    records.extend(flat);
    let model = fitted(&data_set(records));
    assert_eq!(model.families(), vec![Family::Gemm]);
    assert_eq!(model.insufficient().len(), 1);
    let error = ask(&model, &custom(&[("batch", 8)], "flat"), true).unwrap_err();
    assert!(error.to_string().contains("insufficient data"), "{error}");
    assert!(error.hint().unwrap().starts_with("measure larger sizes"), "{error:?}");
}

/// n and k never varied: their value is the domain, not a column of the fit.
#[test]
fn a_constant_parameter_is_recorded_as_the_domain() {
    let times = [(64, 4.320), (128, 4.639), (256, 5.278), (512, 6.557)];
    let records = times.iter().map(|(m, us)| record(gemm(*m, 1024, 1024), *us)).collect();
    let model = fitted(&data_set(records));
    let errors = model.errors().unwrap();
    assert_eq!(errors[0].domain, "m 64..512, n 1024, k 1024");
    let answer = ask(&model, &gemm(200, 1024, 1024), false).unwrap();
    assert!((4639..5390).contains(&answer.time.get()), "{}", answer.time);
    assert!(ask(&model, &gemm(200, 2048, 1024), false).is_err());
    let far = ask(&model, &gemm(200, 2048, 1024), true).unwrap();
    assert!(far.time >= answer.time && far.time.get() < 20_000, "{}", far.time);
}

/// Zeros draw less power and run faster: what operands held is not mixed.
#[test]
fn contents_of_operands_are_not_mixed() {
    let with = |input: &str, m: u64, us: f64| {
        let mut record = record(gemm(m, 1024, 1024), us);
        record.conditions.input = match input {
            "random" => InputContent::Random,
            named => InputContent::Named(named.to_owned()),
        };
        record
    };
    let mut records = Vec::new();
    for (m, us) in [(1024, 7.11), (2048, 14.0), (4096, 28.0), (8192, 56.0)] {
        records.push(with("zeros", m, us * 0.8));
        records.push(with("random", m, us));
    }
    let model = fitted(&data_set(records));
    assert_eq!(ask(&model, &gemm(4096, 1024, 1024), false).unwrap().time, Nanos::new(28_000));
}

#[test]
fn the_same_data_and_seed_give_the_same_bytes_on_any_number_of_threads() {
    let data = gemm_table();
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| fitted(&data).to_text())
    };
    assert!(on(1) == on(3));
    let mut shuffled = data.clone();
    shuffled.records.reverse();
    let text = on(1);
    let after_digest = |text: &str| text.split("\"seed\"").nth(1).map(str::to_owned);
    assert!(after_digest(&text) == after_digest(&fitted(&shuffled).to_text()));
}

#[test]
fn a_parameter_of_a_custom_op_that_never_varied_is_never_extrapolated() {
    let point = |batch, width| custom(&[("batch", batch), ("width", width)], "fused_mlp");
    let records = (0..8).map(|log| record(point(1, 8 << log), 5.0 + f64::from(1 << log))).collect();
    let model = fitted(&data_set(records));
    assert!(ask(&model, &point(1, 4096), true).is_ok());
    for (extrapolate, batch, width) in [(true, 2, 64), (true, 2, 4096), (false, 2, 64)] {
        let error = ask(&model, &point(batch, width), extrapolate).unwrap_err();
        assert_eq!(
            error.to_string(),
            "batch = 2: synthetic-one was measured only at batch = 1 for fused_mlp"
        );
        assert_eq!(
            error.hint().unwrap(),
            "measured: batch 1, width 8..1024; nothing says what another value does, so \
             --extrapolate has no answer either"
        );
    }
}

#[test]
fn collectives_have_no_answer_at_other_nodes_or_for_more_ranks_than_devices() {
    let point = |ranks, nodes, bytes| {
        Point::Collective(CollectivePoint {
            collective: Collective::AllGather,
            dtype: Dtype::F16,
            ranks,
            nodes,
            links: Links::Unstated,
            bytes,
            imbalance: 100,
        })
    };
    let mut records = Vec::new();
    for (ranks, nodes) in [(4_u32, 1_u32), (8, 1), (16, 2), (32, 4)] {
        for log in 10..24 {
            let us = f64::from(10 * nodes) + f64::from(1 << log) / 1e5;
            records.push(record(point(ranks.into(), nodes.into(), 1 << log), us));
        }
    }
    let mut data = data_set(records);
    data.manifest.machine.count = 8;
    let model = fitted(&data);
    let hint = |ranks, nodes| match ask(&model, &point(ranks, nodes, 3000), true) {
        Ok(_) => "answered".to_owned(),
        Err(error) => error.hint().unwrap(),
    };
    for (ranks, nodes) in [(8, 1), (12, 2), (32, 4), (24, 3), (2, 1)] {
        assert_eq!(hint(ranks, nodes), "answered", "{ranks} ranks on {nodes} nodes");
    }
    // Within the measured range of ranks, and of nodes, but 16 on a node of 8.
    assert_eq!(hint(16, 1), "16 ranks need --nodes 2");
    assert!(hint(64, 4).starts_with("64 ranks need 8 nodes, and synthetic-one was measured on 4"));
    assert!(hint(64, 8).starts_with("synthetic-one was measured on 1 to 4 nodes"));
}

#[test]
fn parameters_of_a_custom_op_are_matched_by_name() {
    let records = (0..6).map(|log| {
        let point = custom(&[("heads", 8 << (log % 2)), ("seq", 128 << log)], "scan");
        record(point, 4.0 + 0.01 * f64::from(128_u32 << log))
    });
    let model = Model::fit(&data_set(records.collect()), &FitOptions::default()).unwrap();
    let ask = |parameters: &[(&str, u64)]| {
        let point = custom(parameters, "scan");
        let (cache, basis) = (CacheState::Unstated, BasisChoice::Best);
        model.predict(&Query { point: &point, cache, basis, extrapolate: true })
    };
    let measured = ask(&[("heads", 8), ("seq", 128)]).unwrap();
    assert_eq!(measured.basis, Basis::Measured);
    assert_eq!(ask(&[("seq", 128), ("heads", 8)]), Ok(measured));
    for wrong in [
        &[("heads", 8)][..],
        &[("heads", 8), ("sqe", 128)],
        &[("heads", 8), ("heads", 8)],
        &[("heads", 8), ("seq", 128), ("zz", 9)],
        &[],
    ] {
        assert!(ask(wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn an_uneven_exchange_is_answered_from_the_even_one() {
    let point = |collective, bytes, imbalance| {
        Point::Collective(CollectivePoint {
            collective,
            dtype: Dtype::F16,
            ranks: 4,
            nodes: 1,
            links: Links::Unstated,
            bytes,
            imbalance,
        })
    };
    let even = |bytes| point(Collective::AllToAll, bytes, 100);
    let records = (10..24).map(|log| {
        let bytes = 1_u32 << log;
        record(even(bytes.into()), 10.0 + f64::from(bytes) / 1e5)
    });
    let mut data = data_set(records.collect());
    data.manifest.machine.count = 4;
    let model = fitted(&data);
    let uneven = point(Collective::AllToAllV, 1 << 20, 200);
    let answer = ask(&model, &uneven, false).unwrap();
    let of_twice = ask(&model, &even(1 << 21), false).unwrap();
    // As long as what was measured at twice the bytes, but no measurement of this.
    assert_eq!((answer.time, of_twice.basis), (of_twice.time, Basis::Measured));
    assert_eq!(answer.basis, Basis::Interpolated);
    let of_once = ask(&model, &even(1 << 20), false).unwrap();
    assert!(answer.low <= of_once.time && answer.high >= answer.time, "{answer:?}");
    let (cache, basis) = (CacheState::Unstated, BasisChoice::Best);
    let query = Query { point: &uneven, cache, basis, extrapolate: false };
    let explanation = model.explain(&query).unwrap();
    assert_eq!(explanation.prediction, answer);
    assert!(explanation.domain.contains("bytes=2097152"), "{}", explanation.domain);
    // Nothing speaks for a dtype that no exchange was measured in.
    let Point::Collective(other) = uneven else { return };
    let other = Point::Collective(CollectivePoint { dtype: Dtype::Int8, ..other });
    assert!(ask(&model, &other, false).is_err());
}

#[test]
fn a_curve_says_which_points_an_answer_stands_on() {
    let point = |ranks, bytes| {
        Point::Collective(CollectivePoint {
            collective: Collective::AllGather,
            dtype: Dtype::F16,
            ranks,
            nodes: 1,
            links: Links::Nvswitch,
            bytes,
            imbalance: 100,
        })
    };
    let mut records = Vec::new();
    for ranks in [2_u32, 8] {
        for log in (10..24).step_by(2) {
            let us = f64::from(3 + ranks) + f64::from(1 << log) / 1e5;
            records.push(record(point(ranks.into(), 1 << log), us));
        }
    }
    let mut data = data_set(records);
    data.manifest.machine.count = 8;
    let model = fitted(&data);
    let account = |ranks, bytes| {
        let point = point(ranks, bytes);
        let (cache, basis) = (CacheState::Unstated, BasisChoice::Best);
        let query = Query { point: &point, cache, basis, extrapolate: true };
        let explanation = model.explain(&query).unwrap();
        let step = explanation.steps.iter().find(|step| step.name == "measured neighbours");
        let detail = step.and_then(|step| step.detail.clone()).unwrap();
        format!("{}: {detail}", explanation.prediction.basis)
    };
    assert_eq!(account(8, 1 << 15), "interpolated: points of 16 KiB and 64 KiB");
    assert_eq!(account(4, 1 << 15), "interpolated: curves of 2 and 8 ranks, their knees shifted");
    assert_eq!(account(8, 1 << 26), "extrapolated: saturating beyond 4 MiB");
    assert_eq!(account(3, 1 << 9), "extrapolated: curves of 2 and 8 ranks, their knees shifted");
}

#[test]
fn three_points_make_a_curve_of_a_collective() {
    let point = |bytes| {
        Point::Collective(CollectivePoint {
            collective: Collective::AllReduce,
            dtype: Dtype::F16,
            ranks: 8,
            nodes: 1,
            links: Links::Pcie,
            bytes,
            imbalance: 100,
        })
    };
    let us = |bytes: u64| 20.0 + bytes as f64 / 1e4;
    let records = [10, 20, 30].map(|log| record(point(1 << log), us(1 << log)));
    let mut data = data_set(records.into());
    data.manifest.machine.count = 8;
    let model = fitted(&data);
    for log in [12, 16, 18, 22, 26, 31] {
        let answer = ask(&model, &point(1 << log), false).unwrap();
        let error = answer.time.us() / us(1 << log) - 1.0;
        assert!(error.abs() < 0.15, "{log}: {answer:?}");
        assert!(answer.low.us() < us(1 << log) && answer.high.us() > us(1 << log), "{answer:?}");
    }
    let one = data_set(vec![record(point(1 << 20), 100.0)]);
    assert!(Model::fit(&one, &FitOptions::default()).is_err());
}

/// Products whose last tile of 128 rows costs as much half full as full.
pub(crate) fn half_tiles() -> DataSet {
    let mut records = Vec::new();
    for n in [512, 1024, 2048, 4096] {
        for k in [512, 1024, 2048, 4096] {
            for m in (64..=2048).step_by(64) {
                let point = gemm(m, n, k);
                let wasteful = if m % 128 == 0 { 1.0 } else { 1.3 };
                let us = wasteful * (3.0 + point.work().flops / 240e6);
                records.push(record(point, us));
            }
        }
    }
    data_set(records)
}

/// What trees know of remainders holds beyond the largest size too: the correction of the
/// nearest point inside would be the same for both.
#[test]
fn trees_tell_points_apart_beyond_the_domain() {
    let options = FitOptions { detail: "60x31".parse().unwrap(), ..FitOptions::default() };
    let model = Model::fit(&half_tiles(), &options).unwrap();
    let time = |m| ask(&model, &gemm(m, 1536, 1536), false).unwrap();
    let (full, half) = (time(4096), time(4096 + 64));
    assert_eq!(full.basis, Basis::Extrapolated);
    let ratio = half.time.as_f64() / full.time.as_f64();
    // The work alone grows by a sixty-fourth.
    assert!((1.08..1.45).contains(&ratio), "{ratio}");
}

#[test]
fn detail_sets_the_size_of_forests_and_is_kept() {
    let fit = |detail: &str| {
        let options = FitOptions { detail: detail.parse().unwrap(), ..FitOptions::default() };
        Model::fit(&half_tiles(), &options).unwrap()
    };
    let model = fit("20x16");
    assert_eq!(model.errors().unwrap()[0].correction, "20 boosted trees");
    let text = model.to_text();
    assert_eq!(Model::from_text(&text).unwrap().detail().to_string(), "20x16");
    assert!(fit("40x31").to_text().len() > text.len());
}
