//! Tables as people have them, and what becomes of them.

use std::path::Path;

use super::read;
use crate::diagnostic::Diagnostic;
use crate::dtype::Dtype;
use crate::family::Family;
use crate::import::{ImportError, ImportOptions, Imported};
use crate::measurement::{Failure, Flag, Outcome, SkipReason};
use crate::point::Point;
use crate::units::Nanos;

mod contradictions;
mod marks;

fn import(text: &str) -> Result<Imported, ImportError> {
    import_with(text, &ImportOptions::default())
}

fn import_with(text: &str, options: &ImportOptions) -> Result<Imported, ImportError> {
    read(text, Path::new("some/table.csv"), options)
}

/// The error and its hint as a person sees them.
fn refusal(text: &str) -> String {
    let error = import(text).unwrap_err();
    format!("{error} | {}", error.hint().unwrap_or_default())
}

fn first_point(text: &str) -> String {
    import(text).unwrap().records[0].point.to_string()
}

#[test]
fn columns_decide_the_family() {
    for (text, point) in [
        ("m,n,k,time_us\n8,16,32,4.2\n", "gemm f32 batch=1 m=8 n=16 k=32"),
        ("m,n,k,layout,time_us\n8,16,32,nt,4.2\n", "gemm f32/nt batch=1 m=8 n=16 k=32"),
        // In capitals the letters are BLAS's: the column is nobody's.
        ("m,n,k,layout,time_us\n8,16,32,NT,4.2\n", "gemm f32 batch=1 m=8 n=16 k=32"),
        ("K,N,M,Latency (ms),dtype\n32,16,8,4.2,half\n", "gemm f16 batch=1 m=8 n=16 k=32"),
        (
            "num_tables,rows,dim,batch_size,pooling_factor,elapsed_s\n8,1000,64,32,4,1e-3\n",
            "embedding forward/f32/uniform tables=8 rows=1000 dim=64 batch=32 pooling=4 skew=0",
        ),
        ("bytes,time_us\n4096,2\n", "copy d2d/pageable bytes=4096"),
        ("direction,pinned,bytes,time_us\nh2d,1,4096,2\n", "copy h2d/pinned bytes=4096"),
        (
            "name,gpus,size,type,time_us\nAllReduce,8,64,float,12.5\n",
            "collective all_reduce/f32 ranks=8 nodes=1 bytes=64",
        ),
        (
            "batch,heads,head_dim,seq,time_us\n1,32,128,512,6\n",
            "attention context/f32/f32 batch=1 heads=32 kv_heads=32 head_dim=128 query_len=512 \
             kv_len=512 window=0",
        ),
        (
            "phase,batch,heads,kv_heads,head_dim,isl,time_us\ngeneration,1,32,8,128,512,6\n",
            "attention generation/f32/f32 batch=1 heads=32 kv_heads=8 head_dim=128 query_len=1 \
             kv_len=512 window=0",
        ),
        ("op,elements,time_us\nadd,1024,2\n", "memory add/f32 rows=1 columns=1024"),
        ("batch,time_us\n64,99.7\n", "custom table batch=64"),
        ("dtype,elements,gpu_time_s\nf32,65536,2e-5\n", "custom table/f32 elements=65536"),
        (
            "op,batch,heads,seq,time_us\nMy Op!,1,2,3,4.5\n",
            "custom My_Op-f913bc78 batch=1 heads=2 seq=3",
        ),
        ("kernel,batch,time_us\nfused_mlp,64,9\n", "custom fused_mlp batch=64"),
        ("Kernel Name,batch,time_us\nfused_mlp,64,9\n", "custom fused_mlp batch=64"),
        ("kernel,batch,time_us\n,64,9\n", "custom table batch=64"),
        ("name,kernel,batch,time_us\nmlp,fused,64,9\n", "custom mlp batch=64"),
        ("direction,bytes,time_us\nHtoD,4096,2\n", "copy h2d/pageable bytes=4096"),
        ("kind,bytes,time_us\ndevice-to-host,4096,2\n", "copy d2h/pageable bytes=4096"),
        ("op,bytes,time_us\nP2P,4096,2\n", "copy p2p/pageable bytes=4096"),
        ("op,bytes,time_us\nsort,4096,2\n", "custom sort bytes=4096"),
        ("kernel,bytes,time_us\nscan,4096,2\n", "custom scan bytes=4096"),
        ("kernel,bytes,time_us\nmemcpy,4096,2\n", "copy d2d/pageable bytes=4096"),
        ("op,bytes,time_us\ncopy,4096,2\n", "copy d2d/pageable bytes=4096"),
    ] {
        assert_eq!(first_point(text), point, "{text}");
    }
}

#[test]
fn units_are_converted_once() {
    for (column, cell) in [
        ("time_us", "168.069"),
        ("latency_ms", "0.168069"),
        ("gpu_time_s", "1.68069e-4"),
        ("time_ns", "168069"),
        ("GPU Time (sec)", "0.000168069"),
        ("median_us", "168.069"),
        ("us", "168.069"),
    ] {
        let imported = import(&format!("m,n,k,{column}\n8,8,8,{cell}\n")).unwrap();
        assert_eq!(imported.records[0].time(), Some(Nanos::new(168_069)), "{column}");
    }
}

#[test]
fn the_plainest_duration_is_the_time() {
    let of = |header: &str, row: &str| {
        import(&format!("m,n,k,{header}\n8,8,8,{row}\n")).map(|i| i.records[0].time().unwrap())
    };
    assert_eq!(
        of("time_min_ms,time_mean_ms,time_median_ms", "1,2,3").unwrap(),
        Nanos::new(3_000_000)
    );
    assert_eq!(of("latency_avg_us,latency_p99_us", "5,9").unwrap(), Nanos::new(5_000));
    assert_eq!(of("cpu_time_s,gpu_time_s", "1,2").unwrap(), Nanos::new(2_000_000_000));
    let two = of("read_time_s,write_time_s", "1,2").unwrap_err().to_string();
    assert!(two.contains("`read_time_s` and `write_time_s`"), "{two}");
    let without = of("latency", "5").unwrap_err();
    assert!(without.to_string().contains("does not say its unit"), "{without}");
    assert!(of("speed", "5").unwrap_err().to_string().contains("no column holds a time"));
}

#[test]
fn rows_without_a_time_keep_their_reason() {
    let text = "rows,nullable,samples,skipped,gpu_time_s\n\
                100000,0,3472,,0.000144658\n\
                400000,0,0,deprecated combination,0e-20\n\
                400000,1,0,,-nan\n\
                800000,1,1,,0e-18\n";
    let imported = import(text).unwrap();
    let outcomes: Vec<&Outcome> = imported.records.iter().map(|r| &r.outcome).collect();
    assert_eq!(imported.records[0].time(), Some(Nanos::new(144_658)));
    let skipped = Outcome::Skipped(SkipReason::Stated("deprecated combination".to_owned()));
    assert_eq!(*outcomes[1], skipped);
    assert!(matches!(outcomes[2], Outcome::Failed(Failure::NoValidSamples(_))));
    assert_eq!(*outcomes[3], Outcome::Failed(Failure::BelowTimerResolution));
    let summary = &imported.summary;
    assert_eq!((summary.kept, summary.skipped, summary.failed), (4, 1, 2));
}

#[test]
fn cut_and_ragged_lines_are_dropped_with_their_number() {
    let text = "m,n,k,time_us\n64,512,512,4.080\n64,512,512\n64,x,512,4\n4096,4096,4096,33";
    let imported = import(text).unwrap();
    assert_eq!(imported.records.len(), 1);
    let lines: Vec<usize> = imported.summary.dropped.iter().flat_map(|d| d.lines.clone()).collect();
    assert_eq!(lines, [3, 4, 5]);
    let strict = ImportOptions { strict: true, ..ImportOptions::default() };
    assert!(import_with(text, &strict).unwrap_err().to_string().contains("table.csv:3:"));
    let quoted = "gpu,m,n,k,time_us\n\"A\",64,64,64,4.2\n\"A\",\"64";
    assert_eq!(import(quoted).unwrap().records.len(), 1);
    assert!(refusal("m,n,k,time_us\n1,2,x,4\n").contains("no row could be read"));
    assert!(refusal("m,n,k,time_us\n").contains("no rows"));
}

#[test]
fn tables_that_cannot_be_trusted_are_refused() {
    for (text, expected) in [
        ("m;n;k;time_us\n64;64;64;4,2\n", "table.csv:2: `4,2`"),
        ("m,n,k,time_us\n64,64,64,\"4,2\"\n", "use '.' as decimal sign and ',' as separator"),
        ("op,m,n,k,time_us\ngemm,1,1,1,4\nop,batch,tables,time_us\n", "table.csv:3: a second"),
        ("bytes,time_us,bw_MBps\n65536,5.621,11118.15\n", "MiB/s"),
        ("m,n,k,time_us,tflops\n4096,4096,4096,200,13.7\n", "tflops is 13.7, but"),
        ("name,size,time_us\nAllReduce,64,12\n", "--ranks"),
        ("m,n,k,time_us\n64,64,64,4,2\n", "decimal commas?"),
        ("m,n,k,m,time_us\n1,1,1,2,4\n", "table.csv:1: column `m` occurs twice"),
        ("bytes,threads,time_us,bw_GBps\n65536,4,6,10.17\n", "GiB/s"),
        (
            "m,n,k,time_us\n1,1,1,4\nbatch,tables,pooling,dim,time_ms\n1,2,3,4,5\n",
            ".csv:3: a second",
        ),
        ("name,time_us\nx,12\n", "no column holds whole numbers"),
        ("m,n,k,init,time_us\n1,1,1,zeros,6\n1,1,1,normal,7\n", "--input normal"),
    ] {
        let shown = refusal(text);
        assert!(shown.contains(expected), "{shown}");
    }
}

#[test]
fn one_kind_of_input_is_chosen_by_name() {
    let text = "m,n,k,init,time_us\n1,1,1,zeros,6\n1,1,1,normal,7\n";
    let options =
        |input: &str| ImportOptions { input: Some(input.to_owned()), ..Default::default() };
    let imported = import_with(text, &options("normal")).unwrap();
    assert_eq!(imported.records.len(), 1);
    assert_eq!(imported.records[0].conditions.input.name(), "normal");
    assert_eq!(imported.summary.dropped_rows(), 1);
    assert!(import_with(text, &options("ones")).is_err());
}

#[test]
fn tables_of_rccl_tests_count_in_microseconds_and_say_so() {
    // The layouts with and without MPI; in the first, blanks after the commas.
    let old = "name, gpus, size, type, redop, inPlace, time, algBw, busBw, #wrong\n\
               \"AllReduce\", 4, 1048576, \"float\", \"sum\", 0, 30.0, 34.95, 52.43, \"0\"\n\
               \"AllReduce\", 4, 1048576, \"float\", \"sum\", 1, 31.0, 33.82, 50.74, \"7\"\n";
    let imported = import(old).unwrap();
    assert_eq!(imported.records[0].time(), Some(Nanos::new(30_000)));
    assert_eq!(imported.records[1].conditions.kernel, "in_place");
    assert!(imported.records[1].flags.contains(Flag::FailedCheck));
    assert!(imported.records[0].flags.is_empty());
    assert!(imported.summary.notes.iter().any(|note| note.contains("taken as µs")));
    let mpi = "numCycle,collective,nodes,ranks,ranksPerNode,gpusPerRank,size,type,redop,inplace,\
               time,algbw,busbw,#wrong\n0,\"AllReduce\",1,8,8,1,1048576,\"float\",\"sum\",0,55.66,\
               18.84,32.97,\"0\"\n";
    assert_eq!(first_point(mpi), "collective all_reduce/f32 ranks=8 nodes=1 bytes=1048576");
    let shifted = mpi.replacen("nodes,", "", 1);
    assert!(refusal(&shifted).contains("14 cells, but the header has 13"));
}

#[test]
fn repeats_fold_when_identical_and_stay_when_not() {
    let text = "m,n,k,time_us\n64,64,64,4.2\n64,64,64,4.2\n128,64,64,4.4\n128,64,64,9.7\n";
    let imported = import(text).unwrap();
    assert_eq!(imported.records.len(), 3);
    assert!(imported.summary.notes.iter().any(|note| note.contains("1 row that repeats")));
}

#[test]
fn a_chain_of_failures_counts_once() {
    let mut text = "m,n,k,status,time_us\n64,64,64,ok,4.2\n".to_owned();
    for m in 2..9 {
        text.push_str(&format!("{},64,64,launch_failed,\n", 64 * m));
    }
    let imported = import(&text).unwrap();
    let stated = Failure::Stated("launch_failed".to_owned());
    assert_eq!(imported.records[1].outcome, Outcome::Failed(stated));
    let lost = |r: &crate::measurement::Record| {
        matches!(&r.outcome, Outcome::Failed(Failure::AfterDeviceLost(_)))
    };
    assert!(imported.records[2..].iter().all(lost));
    assert!(imported.summary.notes.iter().any(|note| note.contains("m=128 n=64 k=64")));
}

#[test]
fn a_chain_of_other_words_is_laid_to_the_failure_before_it() {
    let text = "m,n,k,time_us,error\n64,64,64,4.2,\n128,64,64,,illegal memory access\n\
                256,64,64,,context is lost\n512,64,64,,context is lost\n1024,64,64,,context is lost\n";
    let imported = import(text).unwrap();
    let failure = |index: usize| match &imported.records[index].outcome {
        Outcome::Failed(failure) => failure.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(failure(1), Failure::Stated("illegal memory access".to_owned()));
    let lost = "gemm f32 batch=1 m=128 n=64 k=64: illegal memory access".to_owned();
    assert_eq!(failure(2), Failure::AfterDeviceLost(lost.clone()));
    assert_eq!(failure(4), Failure::AfterDeviceLost(lost));
}

#[test]
fn a_table_of_nvbench_repeats_names_that_nobody_needs() {
    let text = "Benchmark,Device,T,Elements,Samples,CPU Time (sec),Noise (%),GPU Time (sec),\
                Noise (%),Skipped\ncopy,0,F32,65536,312,3e-5,2.1,2.1546e-05,3.5,\n\
                copy,0,F64,65536,0,-nan,-nan,-nan,-nan,\n";
    let imported = import(text).unwrap();
    assert_eq!(imported.records[0].point.to_string(), "custom copy/f32 elements=65536");
    assert_eq!(imported.records[0].time(), Some(Nanos::new(21_546)));
    assert_eq!(imported.summary.failed, 1);
}

#[test]
fn callers_fill_gaps_and_do_not_overrule() {
    let options = ImportOptions {
        dtype: Some(Dtype::Bf16),
        ranks: Some(4),
        op: Some("mine".to_owned()),
        ..Default::default()
    };
    let point = |text: &str| import_with(text, &options).unwrap().records[0].point.clone();
    assert_eq!(point("m,n,k,time_us\n1,1,1,2\n").variant().as_str(), "bf16");
    assert_eq!(point("dtype,m,n,k,time_us\nf64,1,1,1,2\n").variant().as_str(), "f64");
    let collective = point("name,size,time_us\nAllReduce,64,12\n");
    assert_eq!(collective.parameters()[0], 4);
    assert_eq!(point("batch,time_us\n1,2\n").variant().as_str(), "mine");
    assert_eq!(point("kernel,batch,time_us\nk,1,2\n").variant().as_str(), "mine");
    assert_eq!(point("op,batch,time_us\nscan,1,2\n").variant().as_str(), "mine");
    let two = "op,batch,time_us\nscan,1,2\nsort,1,5\n";
    assert_eq!(point(two).variant().as_str(), "mine/scan");
    let family = ImportOptions { family: Some(Family::Gemm), ..Default::default() };
    let missing = import_with("m,n,time_us\n1,1,2\n", &family).unwrap_err();
    assert!(missing.to_string().contains("needs a column `k`"), "{missing}");
}

#[test]
fn our_own_columns_survive_the_import() {
    let text = "dtype,batch,m,n,k,time_us,cache,kernel,samples,verified,status,reason,flags\n\
                bf16,1,8,8,8,4.2,cold,cublas,30,true,ok,,drift;spike\n\
                bf16,1,8,8,9,,,,,,failed,device: gone,\n";
    let imported = import(text).unwrap();
    let record = &imported.records[0];
    assert_eq!(record.flags.iter().count(), 2);
    assert_eq!(record.conditions.kernel, "cublas");
    assert!(matches!(&record.outcome, Outcome::Measured(m) if m.samples == 30 && m.verified));
    let gone = Outcome::Failed(Failure::Device("gone".to_owned()));
    assert_eq!(imported.records[1].outcome, gone);
    assert!(matches!(record.point, Point::Gemm(_)));
}

#[test]
fn damaged_tables_never_panic() {
    let seeds = [
        "m,n,k,dtype,init,samples,skipped,time_us\n1,2,3,f32,normal,4,,5.5\n\"4\",5,6,,x,0,y,-1\n",
        "name, size, type, time_us, busbw (GB/s)\n\"AllReduce\", 8, \"float\", 12.00, 0.1\n",
        "\u{feff}# c\r\nbatch,heads,head_dim,seq,latency_ms,status\r\n1,2,3,4,5,failed\r\n",
    ];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below.max(1) as u64) as usize
    };
    let pieces = [
        ",",
        "\"",
        "\n",
        "\r",
        ";",
        "#",
        "e400",
        "-",
        "µ",
        "\0",
        "99999999999999999999",
        "nan",
        "",
    ];
    let options = ImportOptions { ranks: Some(8), ..Default::default() };
    for round in 0..3000 {
        let mut text = seeds[round % seeds.len()].to_owned();
        for _ in 0..=random(3) {
            let at = (0..=random(text.len() + 1)).rev().find(|at| text.is_char_boundary(*at));
            let at = at.unwrap_or_default();
            match random(3) {
                0 => text.truncate(at),
                1 => text.insert_str(at, pieces[random(pieces.len())]),
                _ => drop(text[at..].chars().next().map(|_| text.remove(at))),
            }
        }
        // The result does not matter, only that there is one.
        let _ = import_with(&text, &options).map_err(|error| format!("{error}{:?}", error.hint()));
    }
}
