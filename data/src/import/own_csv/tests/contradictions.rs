//! Tables whose columns contradict each other, or keep apart what nobody reads.

use super::*;

fn notes(text: &str) -> String {
    import(text).unwrap().summary.notes.join("\n")
}

fn where_(conditions: &[&str]) -> ImportOptions {
    let conditions = conditions.iter().map(|text| text.parse().unwrap()).collect();
    ImportOptions { conditions, ..ImportOptions::default() }
}

#[test]
fn one_duration_in_two_columns_must_agree() {
    for (header, row, shown) in [
        ("time_us,time_ms", "4.2,4.2", "time_us is 4.2, but time_ms is 4.2: two columns"),
        ("time_ms,time_ns", "4.2,4200", "time_ms is 4.2, but time_ns is 4200: two columns"),
        ("latency_us,time_ms", "50,0.5", "latency_us is 50, but time_ms is 0.5"),
        ("mean_us,mean_ms", "50,0.5", "mean_us is 50, but mean_ms is 0.5"),
        ("gpu_time_us,gpu_time_s", "50,5e-4", "gpu_time_us is 50, but gpu_time_s is 5e-4"),
    ] {
        let found = refusal(&format!("m,n,k,{header}\n8,8,8,{row}\n"));
        assert!(found.contains("table.csv:2: ") && found.contains(shown), "{found}");
        assert!(found.contains("correct the unit"), "{found}");
    }
    let agree = "m,n,k,time_us,time_ms\n8,8,8,4.2,0.0042\n8,8,16,168.069,0.168\n8,8,32,9,\n";
    assert_eq!(import(agree).unwrap().records[1].time(), Some(Nanos::new(168_069)));
    assert!(notes(agree).contains("`time_ms` repeats `time_us`, which is kept"));
    // Another duration beside the time is no second time, and no parameter.
    let other = "batch,time_us,setup_time_ms,elapsed_s,time_ns\n8,4.2,70,31,4200\n";
    assert_eq!(first_point(other), "custom table batch=8");
}

#[test]
fn a_time_lies_among_its_own_samples() {
    for (header, row, shown) in [
        ("median_us,min_us,max_us", "4,5,9", "median_us is 4, but min_us is 5: a time below"),
        (
            "time_us,time_max_ms",
            "4200,4.1",
            "time_us is 4200, but time_max_ms is 4.1: a time above",
        ),
        ("latency_avg_us,latency_best_us", "3,4", "a time below the fastest of its samples"),
    ] {
        let found = refusal(&format!("m,n,k,{header}\n8,8,8,{row}\n"));
        assert!(found.contains("table.csv:2: ") && found.contains(shown), "{found}");
    }
    for text in [
        "m,n,k,median_us,min_us,max_us\n8,8,8,4.2,4.2,9\n",
        "m,n,k,time_us,gpu_time_min_us\n8,8,8,4,5\n",
        // The same in every row: a setting of the benchmark.
        "m,n,k,time_us,min_time_s\n8,8,8,4,0.5\n8,8,16,5,0.5\n",
    ] {
        assert!(import(text).is_ok(), "{text}");
    }
}

#[test]
fn bandwidths_under_any_usual_name_are_checked() {
    // 1 MiB in 100 µs: 10.486 GB/s, 9.766 GiB/s, 83.886 Gb/s.
    for (header, row, unit) in [
        ("direction,bytes,time_us,bw_gbs", "h2d,1048576,100,9.766", "fit GiB/s"),
        ("direction,bytes,time_us,bandwidth_gbs", "h2d,1048576,100,83.886", "fit Gb/s (bits)"),
        ("direction,bytes,time_us,bw_gib_s", "h2d,1048576,100,10.486", "fit GB/s"),
        ("name,ranks,size,time_us,algbw", "AllReduce,2,1048576,100,9.766", "fit GiB/s"),
        ("name,ranks,size,time_us,busbw_gbs", "AllReduce,2,1048576,100,83.886", "fit Gb/s"),
        ("op,bytes,threads,time_us,bw_gbs", "x,1048576,4,100,9.766", "fit GiB/s"),
        ("op,size_mib,time_us,bandwidth_gb_s", "x,1,100,9.766", "fit GiB/s"),
        ("op,size_kib,time_us,gb/s", "x,1024,100,83.886", "fit Gb/s (bits)"),
        ("op,size_bytes,time_us,bandwidth (GB/s)", "x,1048576,100,10486", "fit MB/s"),
    ] {
        let found = refusal(&format!("{header}\n{row}\n"));
        let column = header.rsplit(',').next().unwrap();
        assert!(found.contains(&format!("table.csv:2: {column} is ")), "{found}");
        assert!(found.contains(unit), "{header}: {found}");
    }
    for text in [
        "direction,bytes,time_us,bw_gbs\nh2d,1048576,100,10.49\n",
        "direction,bytes,time_us,gbps\nh2d,1048576,100,10.49\n",
        "direction,bytes,time_us,bw_gbs\nd2d,1048576,100,20.97\n",
        "op,size_kb,time_us,bw_gbs\nx,1024,100,10.24\nx,2048,200,10.486\n",
        "m,n,k,time_us,flops\n8,8,8,100,1024\n",
        // Batch sizes.
        "batch,mbs,gbs,time_us\n1,2,3,4\n",
    ] {
        let imported = import(text).unwrap();
        assert!(!imported.summary.notes.join("").contains("does not follow"), "{text}");
    }
    let unknown = "op,bytes,time_us,bw_gbs\nsort,1048576,100,31.4\nsort,2097152,200,31.4\n";
    let told = "`bw_gbs` does not follow from size and time: bw_gbs is 31.4, but";
    assert!(notes(unknown).contains(told) && notes(unknown).contains("(line 2)"));
}

const LAYOUTS: &str = "m,n,k,layout,cuda_graph,time_us\n64,64,64,NN,0,10\n64,64,64,TN,0,20\n\
                       64,64,64,NN,1,4\n64,64,64,TN,1,9\n128,64,64,NN,0,11\n";

#[test]
fn columns_nobody_reads_do_not_make_rows_repeats() {
    let found = refusal(LAYOUTS);
    for part in ["`layout`", "`cuda_graph`", "--where", "gemm f32 batch=1 m=64 n=64 k=64"] {
        assert!(found.contains(part), "{part}: {found}");
    }
    let one = "m,n,k,layout,time_us\n64,64,64,NN,10\n64,64,64,TN,20\n128,64,64,NT,11\n";
    let found = refusal(one);
    assert!(
        found.contains(
            "table.csv:3: column `layout` would be ignored, but rows that differ only in it \
             disagree: gemm f32 batch=1 m=64 n=64 k=64 takes 10 µs with layout=NN (line 2) and \
             20 µs with layout=TN"
        ),
        "{found}"
    );
    assert!(found.contains("choose with --where layout=NN"), "{found}");
    assert!(found.contains("`layout` holds NN, NT, TN"), "{found}");
    for harmless in [
        // No difference, noise within one configuration, observations, one value only.
        "m,n,k,layout,time_us\n64,64,64,NN,10\n64,64,64,TN,10.5\n",
        "m,n,k,layout,time_us\n64,64,64,NN,10\n64,64,64,NN,20\n64,64,64,TN,15\n",
        "m,n,k,sm_clock_mhz,time_us\n64,64,64,1980,10\n64,64,64,1200,20\n",
        "m,n,k,run,time_us\n64,64,64,1,10\n64,64,64,2,20\n",
        "m,n,k,layout,time_us\n64,64,64,NN,10\n64,64,64,NN,20\n",
        "m,n,k,noise,time_us\n64,64,64,0.1,10\n64,64,64,0.2,20\n",
    ] {
        assert!(import(harmless).is_ok(), "{harmless}");
    }
}

#[test]
fn rows_are_chosen_by_what_stands_in_their_columns() {
    let imported = import_with(LAYOUTS, &where_(&["Layout=tn", "cuda_graph=0.0"])).unwrap();
    assert_eq!(imported.records.len(), 1);
    assert_eq!(imported.records[0].time(), Some(Nanos::new(20_000)));
    let notes = imported.summary.notes.join("\n");
    assert!(notes.contains("3 rows left out by --where Layout=tn"), "{notes}");
    assert_eq!(imported.summary.dropped_rows(), 0);
    let refused = |conditions: &[&str]| {
        let error = import_with(LAYOUTS, &where_(conditions)).unwrap_err();
        format!("{error} | {}", error.hint().unwrap_or_default())
    };
    let nothing = refused(&["layout=TT"]);
    assert!(nothing.contains("no row is left by --where layout=TT"), "{nothing}");
    assert!(nothing.contains("have `NN`, `TN` there"), "{nothing}");
    let unknown = refused(&["lauout=TN"]);
    assert!(unknown.contains("table.csv:1: no column `lauout`"), "{unknown}");
    assert!(unknown.contains("did you mean `layout`?"), "{unknown}");
}
