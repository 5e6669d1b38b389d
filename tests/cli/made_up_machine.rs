//! A machine that exists only here, by a law of its own, and its model.
//!
//! Its name and origin say that it is made up; every answer of `predict` must say so too.

use std::fs;
use std::path::PathBuf;

use kernelgauge_data::dataset::Manifest;
use kernelgauge_data::{
    Collective, CollectivePoint, Conditions, CustomPoint, DataSet, Dtype, Flags, GemmLayout,
    GemmPoint, Links, Machine, Measurement, MemoryOp, MemoryPoint, Nanos, Origin, Outcome, Point,
    Record,
};
use kernelgauge_model::{FitOptions, Model};

/// Name of the machine.
pub const NAME: &str = "synthetic-8x";

/// 3 µs, and whichever is longer of 100 TFLOP/s and 1 TB/s.
fn law(point: &Point) -> Nanos {
    let work = point.work();
    Nanos::saturating(3_000.0 + (work.flops / 1e5).max(work.bytes() / 1e3))
}

fn gemms(dtype: Dtype) -> impl Iterator<Item = Point> {
    let sites = [(1024, 1024), (1024, 4096), (4096, 4096)];
    sites.into_iter().flat_map(move |(n, k)| {
        (0..8).map(move |octave| {
            Point::Gemm(GemmPoint {
                dtype,
                batch: 1,
                m: 8 << octave,
                n,
                k,
                layout: GemmLayout::Unstated,
            })
        })
    })
}

fn all_reduces() -> impl Iterator<Item = Point> {
    [2, 8].into_iter().flat_map(|ranks| {
        (10..26).map(move |octave| {
            Point::Collective(CollectivePoint {
                collective: Collective::AllReduce,
                dtype: Dtype::F16,
                ranks,
                nodes: 1,
                links: Links::Nvswitch,
                bytes: 1 << octave,
                imbalance: 100,
            })
        })
    })
}

fn softmaxes() -> impl Iterator<Item = Point> {
    (0..12).map(|octave| {
        let (op, dtype) = (MemoryOp::Softmax, Dtype::F32);
        Point::Memory(MemoryPoint { op, dtype, rows: 4 << octave, columns: 1024 })
    })
}

/// An op of the machine's own.
fn kernels() -> impl Iterator<Item = (Point, Nanos)> {
    [64_u64, 256].into_iter().flat_map(|width| {
        (0..6).map(move |octave| {
            let batch = 1_u64 << octave;
            let parameters = vec![("width".to_owned(), width), ("batch".to_owned(), batch)];
            let point = Point::Custom(CustomPoint { op: "my_kernel".to_owned(), parameters });
            (point, Nanos::new(2_000 + 10 * batch * width))
        })
    })
}

/// What was "measured".
pub fn data_set() -> DataSet {
    let machine = Machine {
        name: NAME.to_owned(),
        device: "Made-up GPU".to_owned(),
        count: 8,
        links: Links::Nvswitch,
        software: [("madeup".to_owned(), "1.0".to_owned())].into(),
        hardware: Default::default(),
    };
    let points =
        gemms(Dtype::Bf16).chain(gemms(Dtype::F32)).chain(all_reduces()).chain(softmaxes());
    let records = points
        .map(|point| (point.clone(), law(&point)))
        .chain(kernels())
        .map(|(point, time)| Record {
            outcome: Outcome::Measured(Measurement::stated(time)),
            point,
            conditions: Conditions::default(),
            flags: Flags::NONE,
        })
        .collect();
    DataSet { manifest: Manifest::new(machine, Origin::Synthetic), records }
}

/// A folder for the files of the test called `test`.
pub fn folder(test: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("cli").join(test);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The model file of the machine, in the folder of the test called `test`.
pub fn model_file(test: &str) -> PathBuf {
    let path = folder(test).join("model.json");
    let model = Model::fit(&data_set(), &FitOptions::default()).unwrap();
    fs::write(&path, model.to_text()).unwrap();
    path
}
