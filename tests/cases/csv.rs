//! Benchmark tables as they come: cut, skipped, mixed, mislabelled.

use std::fs;

use crate::command::{Imported, folder, import, input};

/// Imports an input that is accepted.
fn accepted(name: &str, options: &[&str]) -> Imported {
    let imported = import(name, &input(name), options);
    assert_eq!(imported.code, 0, "{}", imported.stderr);
    imported
}

/// Imports an input that is refused, and returns its error and hint.
fn refused(name: &str) -> String {
    let imported = import(name, &input(name), &[]);
    assert_eq!(imported.code, 2, "{}", imported.stderr);
    assert_eq!(imported.stdout, "");
    assert_eq!(imported.tables, "");
    assert!(imported.stderr.starts_with("error: "), "{}", imported.stderr);
    imported.stderr
}

fn has(text: &str, part: &str) {
    assert!(text.contains(part), "`{part}` is not in:\n{text}");
}

#[test]
fn points_without_a_valid_sample_have_no_time() {
    let imported = accepted("c01_zero_samples_nan_times.csv", &[]);
    has(&imported.stdout, "4 kept (0 skipped, 3 failed)");
    assert_eq!(imported.tables.matches("failed,no_valid_samples").count(), 3);
    has(&imported.tables, "f64,65536,21.546,312");
    assert!(!imported.tables.to_lowercase().contains("nan,"), "{}", imported.tables);
}

#[test]
fn a_skipped_point_has_a_reason_and_an_empty_time() {
    let imported = accepted("c02_skipped_rows_garbage_times.csv", &[]);
    has(&imported.stdout, "4 kept (1 skipped, 1 failed)");
    has(&imported.tables, ",,,skipped,stated: deprecated combination");
    has(&imported.tables, ",,,failed,below_timer_resolution");
}

#[test]
fn a_last_line_without_an_end_is_dropped_and_told() {
    let imported = accepted("c03_truncated_last_row.csv", &[]);
    has(&imported.stdout, "6 kept");
    has(&imported.stdout, "it was cut (line 8)");
    assert!(!imported.tables.contains("4096"), "{}", imported.tables);
    let strict = import("c03_strict", &input("c03_truncated_last_row.csv"), &["--strict"]);
    assert_eq!(strict.code, 2);
    has(&strict.stderr, ".csv:8: ");
}

#[test]
fn a_file_cut_inside_a_quote_keeps_its_whole_rows() {
    let imported = accepted("c04_truncated_inside_quote.csv", &[]);
    has(&imported.stdout, "1 kept");
    has(&imported.stdout, "it was cut (line 3)");
}

#[test]
fn a_byte_order_mark_and_a_comment_hide_nothing() {
    let imported = accepted("c05_bom_crlf_comment.csv", &[]);
    has(&imported.tables, "dtype,batch,m,n,k,time_us\nf32,1,64,64,64,4.2\n");
}

#[test]
fn decimal_commas_are_refused_with_the_cell() {
    let shown = refused("c06_decimal_comma_semicolon.csv");
    has(&shown, ".csv:2: `4,2`");
    has(&shown, "hint: use '.' as decimal sign and ',' as separator");
}

#[test]
fn two_tables_in_one_file_are_refused_and_repeats_are_kept() {
    let shown = refused("c08_two_schemas_and_conflicting_duplicates.csv");
    has(&shown, ".csv:6: a second header");

    let text = fs::read_to_string(input("c08_two_schemas_and_conflicting_duplicates.csv")).unwrap();
    let first: String = text.split_inclusive('\n').take(5).collect();
    let file = folder("c08_first_table").join("first.csv");
    fs::write(&file, first).unwrap();
    let imported = import("c08_first_table_set", &file, &[]);
    has(&imported.stdout, "3 kept");
    has(&imported.stdout, "1 row that repeats an earlier one exactly: folded");
    has(&imported.tables, "f32,1,128,64,64,4.4,conflicting_repeats");
    has(&imported.tables, "f32,1,128,64,64,9.7,conflicting_repeats");
    assert!(!imported.tables.contains("4.2,conflicting"), "{}", imported.tables);
}

#[test]
fn a_git_lfs_pointer_is_recognised() {
    has(&refused("c09_lfs_pointer_instead_of_data.csv"), "run `git lfs pull`");
}

#[test]
fn tables_of_unknown_ops_are_kept_as_they_are() {
    let imported = accepted("c10_singleton_batch_axis.csv", &[]);
    has(&imported.tables, "op,batch,heads,seq,time_us\n");
    let imported = accepted("c11_nearly_flat_negative_slope.csv", &["--op", "flat"]);
    has(&imported.tables, "op,batch,time_us\nflat,1,99.866\n");
    let imported = accepted("c20_constant_feature_column.csv", &["--dtype", "bf16"]);
    has(&imported.tables, "bf16,1,64,1024,1024,4.32\n");
}

#[test]
fn spikes_and_impossible_points_are_flagged_and_kept() {
    let imported = accepted("c12_spikes_and_impossible_speed.csv", &[]);
    let flagged: Vec<&str> =
        imported.tables.lines().skip(1).filter(|line| !line.ends_with(',')).collect();
    let expected = [
        "f32,1,32,1024,4096,15.773,spike",
        "f32,1,32,4096,4096,22.292,spike",
        "f32,1,256,1024,4096,0.182,below_speed_of_light",
        "f32,1,256,4096,4096,0.489,below_speed_of_light",
    ];
    assert_eq!(flagged, expected);
    assert_eq!(imported.tables.lines().count(), 19);
}

#[test]
fn an_elapsed_time_that_is_none_is_never_clamped() {
    let imported = accepted("c15_negative_and_zero_elapsed.csv", &[]);
    assert_eq!(imported.tables.matches(",,failed,below_timer_resolution").count(), 3);
    has(&imported.tables, "65536,,failed,no_valid_samples: time_us is `1e400`");
    has(&imported.tables, "32768,2.4,ok,");
}

#[test]
fn a_bandwidth_in_another_unit_than_named_is_refused() {
    let shown = refused("c17_mib_column_named_mb.csv");
    has(&shown, ".csv:2: bw_MBps is 11118.15, but 65536 bytes in 5.621 µs make it 11659");
    has(&shown, "MiB/s");
}

#[test]
fn contents_of_operands_are_not_mixed() {
    let name = "c19_mixed_input_content.csv";
    has(&refused(name), "hint: import one of them with --input, such as --input normal");
    let imported = import("c19_normal", &input(name), &["--input", "normal"]);
    has(&imported.stdout, "3 kept");
    assert_eq!(imported.tables.matches(",normal").count(), 3);
}

#[test]
fn a_chain_of_failures_is_one_failure() {
    let imported = accepted("c22_all_points_failed_after_first.csv", &[]);
    assert_eq!(imported.tables.matches("failed,stated: launch_failed").count(), 1);
    assert_eq!(imported.tables.matches("failed,after_device_lost").count(), 12);
    has(&imported.stdout, "gemm f32 batch=1 m=128 n=64 k=64: launch_failed");
}

#[test]
fn rows_that_differ_in_a_column_nobody_reads_are_chosen_by_it() {
    let name = "c23_layout_and_graph_columns.csv";
    let shown = refused(name);
    has(&shown, "would be ignored, but rows that differ only in");
    has(&shown, "--where layout=NN");
    let choice = ["--where", "layout=TN", "--where", "cuda_graph=0"];
    let imported = import("c23_chosen", &input(name), &choice);
    assert_eq!(imported.code, 0, "{}", imported.stderr);
    has(&imported.stdout, "2 kept (0 skipped, 0 failed), 0 flagged, 0 dropped");
    has(&imported.stdout, "3 rows left out by --where layout=TN");
    has(&imported.tables, "bf16,1,64,1024,1024,14.9\n");
    let said = import("c23_no_condition", &input(name), &["--where", "TN"]);
    let expected = "error: `TN` is no condition on a column\n\
                    hint: write NAME=VALUE, such as `--where layout=TN`\n";
    assert_eq!((said.code, said.stderr.as_str()), (2, expected));
}

#[test]
fn one_duration_in_two_columns_must_agree() {
    let shown = refused("c24_two_time_columns.csv");
    has(&shown, ".csv:3: time_us is 4.4, but time_ms is 4.4");
}

#[test]
fn archives_are_not_opened() {
    let shown = refused("m06_archive_members_that_leave_the_folder.tar");
    has(&shown, "a tar archive, and archives are not read");
    has(&shown, "hint: unpack it and import the files it holds");
}

#[test]
fn a_machine_is_named_by_a_plain_word() {
    for name in ["../evil", "", "a b", ".hidden", "-x"] {
        let option = format!("--machine={name}");
        let imported =
            import("machine_name", &input("c05_bom_crlf_comment.csv"), &[option.as_str()]);
        assert_eq!((imported.code, imported.tables.as_str()), (2, ""), "{name}");
        assert!(imported.stderr.contains("is not the name of a machine"), "{}", imported.stderr);
    }
}

#[test]
fn times_that_whole_nanoseconds_do_not_hold_are_told() {
    let file = folder("rounded").join("short.csv");
    fs::write(&file, "batch,duration_ns\n1,2.1\n2,2.4\n4,3.0\n").unwrap();
    let imported = import("rounded_set", &file, &[]);
    assert!(imported.stdout.contains("rounded  2 times by more than 1 %"), "{}", imported.stdout);
}
