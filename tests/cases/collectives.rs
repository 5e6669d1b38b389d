//! Logs of collectives as they come: cut by messages, run alone, run twice, full of secrets.

use std::fs;

use crate::command::{Imported, import, import_more, input, set_folder};

/// Imports an input that is accepted.
fn accepted(name: &str, options: &[&str]) -> Imported {
    let imported = import(name, &input(name), options);
    assert_eq!(imported.code, 0, "{}", imported.stderr);
    imported
}

/// Imports an input that is refused, and returns its error and hint.
fn refused(name: &str, options: &[&str]) -> String {
    let imported = import(name, &input(name), options);
    assert_eq!(imported.code, 2, "{}", imported.stderr);
    assert_eq!((imported.stdout.as_str(), imported.tables.as_str()), ("", ""));
    assert!(imported.stderr.starts_with("error: "), "{}", imported.stderr);
    imported.stderr
}

fn has(text: &str, part: &str) {
    assert!(text.contains(part), "`{part}` is not in:\n{text}");
}

#[test]
fn messages_inside_a_table_cost_no_whole_row() {
    const NAME: &str = "n01_debug_lines_inside_table.txt";
    let imported = accepted(NAME, &[]);
    has(&imported.stdout, "14 kept (0 skipped, 0 failed), 0 flagged, 2 dropped");
    has(&imported.stdout, "message between the rows (line 18)");
    has(&imported.stdout, "row is cut short (line 21)");
    has(&imported.tables, "all_reduce,f32,8,1,unstated,524288,14.91,");
    let strict = import("n01_strict", &input(NAME), &["--strict"]);
    assert_eq!((strict.code, strict.tables.as_str()), (2, ""));
    has(&strict.stderr, ".txt:18: ");
}

#[test]
fn a_run_of_one_rank_is_no_measurement() {
    let shown = refused("n02_single_rank_busbw_zero.txt", &[]);
    has(&shown, "world size 1 is not a collective measurement");
    has(&shown, "hint: was the program built without MPI");
    // Stating ranks does not make it one.
    refused("n02_single_rank_busbw_zero.txt", &["--ranks", "8"]);
}

#[test]
fn two_runs_that_print_at_once_are_refused() {
    has(&refused("n03_two_independent_runs_interleaved.txt", &[]), "two runs in one file");
}

#[test]
fn exponents_blank_halves_and_empty_calls_are_understood() {
    let imported = accepted("n04_exponents_na_and_blank_half.txt", &[]);
    has(&imported.tables, "all_reduce,f32,8,1,unstated,68719476736,38000000,in_place");
    has(&imported.tables, "broadcast,f32,8,1,unstated,1048576,17.6,in_place");
    assert!(!imported.tables.contains("1048576,17.6,,"), "{}", imported.tables);
    assert!(!imported.tables.contains("unstated,0,"), "{}", imported.tables);
    has(&imported.stdout, "1 row of 0 bytes took 6.2 µs");
}

#[test]
fn a_report_keeps_the_environment_of_its_writer_to_itself() {
    const NAME: &str = "n06_json_env_and_string_nan.json";
    let imported = accepted(NAME, &[]);
    has(&imported.tables, "all_reduce,f32,8,1,unstated,1024,12.5");
    let manifest = fs::read_to_string(set_folder(NAME).join("dataset.toml")).unwrap();
    for secret in ["not-a-real-secret", "EXAMPLE_API_TOKEN", "/home/example", "node-a", "out.json"]
    {
        for written in [&imported.stdout, &imported.stderr, &imported.tables, &manifest] {
            assert!(!written.contains(secret), "{secret} in {written}");
        }
    }
}

#[test]
fn blanks_after_commas_are_no_part_of_names_and_cells() {
    const NAME: &str = "n08_csv_space_after_comma.csv";
    let shown = refused(NAME, &[]);
    has(&shown, "does not say over how many ranks");
    has(&shown, "--ranks");
    let imported = accepted(NAME, &["--ranks", "8"]);
    has(&imported.stdout, "7 kept");
    has(&imported.tables, "all_reduce,f32,8,1,unstated,134217728,757.65");
}

#[test]
fn times_joined_by_hyphens_are_split_as_numbers() {
    let imported = accepted("n09_param_hyphen_joined_latency.txt", &[]);
    has(&imported.tables, "all_to_all_v,f32,4,1,unstated,4096,21.7");
    has(&imported.tables, "all_to_all_v,f32,4,1,unstated,64,1\n");
    has(&refused("n09_param_hyphen_joined_latency.txt", &["--ranks", "2"]), "times of 4 ranks");
}

#[test]
fn a_log_that_was_pasted_twice_and_cut_is_one_run() {
    const NAME: &str = "n10_pasted_twice_and_cut.txt";
    let imported = accepted(NAME, &[]);
    has(&imported.stdout, "6 kept (0 skipped, 0 failed), 0 flagged, 1 dropped");
    has(&imported.stdout, "the file ends inside this row (line 29)");
    has(&imported.stdout, "repeats an earlier one exactly: its 4 records are folded");
    // The same file again brings nothing new.
    let again = import_more(NAME, &input(NAME));
    has(&again.stdout, "folded   6 were in the data set already");
    assert_eq!(again.tables, imported.tables);
}
