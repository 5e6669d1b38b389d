//! Folders written, read, cut and changed.

use std::fs;

use super::*;
use crate::conditions::{CacheState, Conditions, InputContent};
use crate::diagnostic::Diagnostic;
use crate::dtype::Dtype;
use crate::machine::{Hardware, Links, Machine, Origin};
use crate::measurement::{Failure, Flag, Flags, Measurement, Outcome};
use crate::point::{
    Collective, CollectivePoint, CopyDirection, CopyPoint, CustomPoint, GemmLayout, GemmPoint,
    MemoryOp, MemoryPoint, Point,
};
use crate::units::Nanos;

fn machine() -> Machine {
    Machine {
        name: "made-up".to_owned(),
        device: "Made-up device".to_owned(),
        count: 2,
        links: Links::Pcie,
        software: [("library".to_owned(), "1.2".to_owned())].into(),
        hardware: Hardware {
            units: Some(4),
            memory_gb_s: Some(100.5),
            peak_tflop_s: [("f32".to_owned(), 1.5)].into(),
            source: Some("nowhere".to_owned()),
            ..Hardware::default()
        },
    }
}

fn measured(point: Point, nanos: u64) -> Record {
    Record {
        point,
        conditions: Conditions::default(),
        outcome: Outcome::Measured(Measurement::stated(Nanos::new(nanos))),
        flags: Flags::NONE,
    }
}

fn gemm(m: u64, nanos: u64) -> Record {
    measured(
        Point::Gemm(GemmPoint {
            dtype: Dtype::F32,
            batch: 1,
            m,
            n: 64,
            k: 64,
            layout: GemmLayout::Unstated,
        }),
        nanos,
    )
}

fn custom(op: &str, parameters: &[(&str, u64)]) -> Record {
    let parameters = parameters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    measured(Point::Custom(CustomPoint { op: op.to_owned(), parameters }), 5_000)
}

fn of_many_families() -> DataSet {
    let mut flagged = gemm(8, 4_321);
    flagged.flags.insert(Flag::Spike);
    let mut failed = gemm(16, 1);
    failed.outcome = Outcome::Failed(Failure::Device("code 700, \"sticky\"".to_owned()));
    let add = MemoryPoint { op: MemoryOp::Add, dtype: Dtype::F32, rows: 1, columns: 1024 };
    let mut cold = measured(Point::Memory(add), 77_000);
    cold.conditions = Conditions {
        cache: CacheState::Cold,
        input: InputContent::Random,
        kernel: "a, b".to_owned(),
    };
    let direction = CopyDirection::HostToHost;
    let copy = Point::Copy(CopyPoint { direction, pinned: false, bytes: 4096 });
    let all_reduce = Point::Collective(CollectivePoint {
        collective: Collective::AllReduce,
        dtype: Dtype::F16,
        ranks: 8,
        nodes: 1,
        links: Links::Unstated,
        bytes: 1 << 20,
        imbalance: 100,
    });
    let mut manifest = Manifest::new(machine(), Origin::Synthetic);
    manifest.environment.set("threads", "2");
    manifest.run = Some(Run {
        tool_version: "0.1.0".to_owned(),
        seed: 7,
        plan_hash: "abc".to_owned(),
        started_utc: "2026-11-30T10:36:00Z".to_owned(),
        finished_utc: "2026-11-30T10:37:00Z".to_owned(),
        status: RunStatus::Complete,
    });
    let source = "a source".to_owned();
    manifest.files.push(FileEntry { name: "gemm.csv".to_owned(), source, ..FileEntry::default() });
    let records = vec![
        flagged,
        gemm(4, 4_000),
        failed,
        cold,
        measured(copy, 900),
        measured(all_reduce, 33_000),
        custom("mine/f32", &[("batch", 1), ("seq", 2)]),
        custom("mine/f32", &[("batch", 1)]),
    ];
    DataSet { manifest, records }
}

#[test]
fn a_written_set_reads_back_and_writes_the_same_bytes() {
    let folder = crate::test_folder("dataset_round_trip");
    let written = of_many_families();
    written.write(&folder).unwrap();
    let read = DataSet::read(&folder).unwrap();
    assert_eq!(read.records.len(), written.records.len());
    assert!(written.records.iter().all(|record| read.records.contains(record)));
    assert_eq!(read.digest(), written.digest());
    assert_eq!(read.manifest.run, written.manifest.run);
    assert_eq!(read.manifest.machine, written.manifest.machine);
    assert_eq!(read.manifest.file("gemm.csv").unwrap().source, "a source");
    assert_eq!(read.manifest.file("gemm.csv").unwrap().rows, 3);

    let again = crate::test_folder("dataset_round_trip_again");
    read.write(&again).unwrap();
    for entry in fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name();
        let [first, second] = [&folder, &again].map(|f| fs::read(f.join(&name)).unwrap());
        assert_eq!(first, second, "{name:?}");
    }
}

#[test]
fn optional_columns_appear_only_where_they_say_something() {
    let folder = crate::test_folder("dataset_columns");
    of_many_families().write(&folder).unwrap();
    let header = |name: &str| {
        let text = fs::read_to_string(folder.join(name)).unwrap();
        text.lines().next().unwrap().to_owned()
    };
    assert_eq!(header("gemm.csv"), "dtype,batch,m,n,k,time_us,status,reason,flags");
    let memory = "op,dtype,elements,bytes_read,bytes_written,time_us,cache,input,kernel";
    assert_eq!(header("memory.csv"), memory);
    assert_eq!(header("copy.csv"), "direction,pinned,bytes,time_us");
    assert_eq!(header("collective.csv"), "collective,dtype,ranks,nodes,links,bytes,time_us");
    assert_eq!(header("custom-mine_f32.csv"), "op,batch,time_us");
    assert_eq!(header("custom-mine_f32-2.csv"), "op,batch,seq,time_us");
}

/// The errors of reading a GEMM-only set whose `gemm.csv` was edited.
fn after_edit(name: &str, edit: impl Fn(&str) -> String) -> String {
    let folder = crate::test_folder(name);
    let manifest = Manifest::new(machine(), Origin::Synthetic);
    DataSet { manifest, records: vec![gemm(4, 4_000), gemm(8, 4_321)] }.write(&folder).unwrap();
    let path = folder.join("gemm.csv");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, edit(&text)).unwrap();
    let error = DataSet::read(&folder).unwrap_err();
    format!("{error}\n{}", error.hint().unwrap_or_default())
}

#[test]
fn changed_files_are_refused_with_the_place() {
    type Edit = fn(&str) -> String;
    let cases: [(&str, Edit, &str); 7] = [
        ("cut", |text| text[..text.len() - 4].to_owned(), "gemm.csv:3: `f32,1,8,64,64,4.` has no"),
        ("value", |text| text.replace("4.321", "4.322"), "gemm.csv: sha256 is "),
        ("comma", |text| text.replace("4.321", "\"4,3\""), "time_us is `4,3`, not a number"),
        ("column", |text| text.replace("batch", "bach"), "gemm.csv:1: unknown column `bach`"),
        ("dtype", |text| text.replacen("f32", "f23", 1), "did you mean `f32`?"),
        (
            "pointer",
            |_| "version https://git-lfs.github.com/spec/v1\n".to_owned(),
            "run `git lfs pull`",
        ),
        ("empty", |_| String::new(), "no header line: the file is empty"),
    ];
    for (name, edit, expected) in cases {
        let shown = after_edit(&format!("dataset_{name}"), edit);
        assert!(shown.contains(expected), "{name}: {shown}");
    }
}

#[test]
fn many_problems_are_listed_up_to_twenty_and_counted() {
    let bad_row = "f32,1,x,64,64,4\n";
    let shown = after_edit("dataset_many", |text| format!("{text}{}", bad_row.repeat(50)));
    assert!(shown.contains("50 problems"), "{shown}");
    assert!(shown.contains("gemm.csv:4: m is `x`"), "{shown}");
    assert!(shown.contains("and 30 more"), "{shown}");
    assert_eq!(shown.matches("gemm.csv:").count(), 20);
}

#[test]
fn a_byte_order_mark_and_crlf_change_the_digest_and_nothing_else() {
    let shown = after_edit("dataset_bom", |text| format!("\u{feff}{}", text.replace('\n', "\r\n")));
    assert!(shown.contains("1 problem"), "{shown}");
    assert!(shown.contains("sha256"), "{shown}");
}

#[test]
fn manifests_that_are_missing_newer_or_wrong_are_refused() {
    let folder = crate::test_folder("dataset_manifest");
    let error = |content: Option<&str>| {
        if let Some(content) = content {
            fs::write(folder.join(MANIFEST), content).unwrap();
        }
        DataSet::read(&folder).unwrap_err()
    };
    assert!(matches!(error(None), DataSetError::NoManifest { .. }));
    let newer = error(Some("format_version = 9\nfuture = true\n"));
    assert!(newer.to_string().contains("9 is newer than 1"), "{newer}");
    let broken = error(Some("format_version = 1\norigin = \"guess\"\n"));
    assert!(matches!(broken, DataSetError::Manifest { line: Some(2), .. }), "{broken}");
    let mut manifest = Manifest::new(machine(), Origin::Synthetic);
    manifest.files.push(FileEntry { name: "../gemm.csv".to_owned(), ..FileEntry::default() });
    let outside = error(Some(&toml::to_string(&manifest).unwrap()));
    assert!(outside.to_string().contains("`../gemm.csv` is not the name"), "{outside}");
    assert!(matches!(
        DataSet::read(&folder.join("nowhere")).unwrap_err(),
        DataSetError::Read { .. }
    ));
}

#[test]
fn the_digest_does_not_depend_on_the_order_of_measuring() {
    let set = of_many_families();
    let mut reversed = set.clone();
    reversed.records.reverse();
    assert_eq!(set.digest(), reversed.digest());
    reversed.records.pop();
    assert_ne!(set.digest(), reversed.digest());
}
