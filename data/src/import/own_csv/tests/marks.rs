//! Rows that say themselves that they are no good.

use super::{import, refusal};
use crate::measurement::{Failure, Flag, Outcome};

/// Imports one good row and one with `cell` in `column`, and says what became of them:
/// a time, a flagged time, or the failure.
fn fates(column: &str, good: &str, bad: &str) -> Vec<String> {
    let text = format!("m,n,k,{column},time_us\n64,64,64,{good},5\n128,64,64,{bad},1\n");
    let imported = import(&text).unwrap_or_else(|error| panic!("{text}{error}"));
    let fates = imported.records.iter().map(|record| match &record.outcome {
        Outcome::Measured(_) if record.flags.contains(Flag::FailedCheck) => "flagged".to_owned(),
        Outcome::Measured(_) => "good".to_owned(),
        Outcome::Failed(Failure::Stated(why)) => why.clone(),
        other => panic!("{text}{other:?}"),
    });
    let fates: Vec<String> = fates.collect();
    let counted = imported.summary.failed + imported.summary.flagged.values().sum::<usize>();
    assert_eq!(counted, fates.iter().filter(|fate| *fate != "good").count(), "{text}");
    fates
}

#[test]
fn a_row_that_carries_an_error_has_no_good_time() {
    for (column, good, bad, expected) in [
        ("error", "", "CUDA error 700", "CUDA error 700"),
        ("error", "0", "700", "700"),
        ("Error Message", "none", "out of memory", "out of memory"),
        ("exception", "no error", "Traceback", "Traceback"),
        ("message", "ok", "launch failure", "launch failure"),
        ("failed", "0", "1", "failed is `1`"),
        ("failed", "False", "True", "failed is `True`"),
        ("valid", "1", "0", "valid is `0`"),
        ("ok", "yes", "no", "ok is `no`"),
        ("success", "true", "false", "success is `false`"),
        ("passed", "true", "perhaps", "passed is `perhaps`"),
        ("status", "0", "error", "error"),
        ("status", "success", "137", "137"),
        ("correct", "true", "false", "flagged"),
        ("correct", "n/a", "WRONG", "flagged"),
        ("verified", "yes", "no", "flagged"),
        ("verified", "1", "0", "flagged"),
        ("check", "PASS", "FAIL", "flagged"),
        ("Is Correct", "True", "False", "flagged"),
    ] {
        assert_eq!(fates(column, good, bad), ["good", expected], "{column} {bad}");
    }
}

#[test]
fn marks_stand_in_tables_of_any_op() {
    let text =
        "op,batch,error,correct,time_us\nscan,1,,true,5\nscan,2,boom,true,1\nscan,4,,false,2\n";
    let imported = import(text).unwrap();
    let times: Vec<bool> = imported.records.iter().map(|r| r.fit_time().is_some()).collect();
    assert_eq!(times, [true, false, false]);
    assert_eq!(imported.records[0].point.to_string(), "custom scan batch=1");
}

#[test]
fn numbers_that_are_no_marks_stay_what_they_are() {
    // A numerical error is no text of an error, a number of valid elements no mark.
    assert_eq!(fates("error", "1.2e-6", "3.4e-6"), ["good", "good"]);
    let text = "batch,valid,time_us\n8,1024,5\n8,2048,9\n";
    assert!(import(text).unwrap().records[0].point.to_string().contains("valid=1024"));
    // A message beside a good status is none of an error.
    let text = "m,n,k,status,message,time_us\n64,64,64,ok,graph captured,5\n";
    assert!(import(text).unwrap().records[0].time().is_some());
}

#[test]
fn capitals_of_a_unit_matter_where_they_change_it() {
    assert!(refusal("m,n,k,time_Ms\n8,8,8,5\n").contains("`time_Ms`"));
    for column in ["TIME_MS", "time_ms", "seconds", "Secs", "sec"] {
        let text = format!("m,n,k,{column}\n8,8,8,0.5\n");
        assert!(import(&text).is_ok(), "{column}");
    }
}

#[test]
fn times_that_whole_nanoseconds_do_not_hold_are_counted() {
    let imported = import("batch,duration_ns\n1,2.1\n2,2.4\n4,3.0\n8,1000.4\n").unwrap();
    assert_eq!(imported.summary.rounded, 2);
    assert_eq!(import("batch,time_us\n1,2.1\n").unwrap().summary.rounded, 0);
}

#[test]
fn what_an_error_quotes_is_short() {
    let long = "9x".repeat(100_000);
    for text in [
        format!("m,n,k,time_us\n1,1,{long},5\n"),
        format!("m,n,k,time_us\n1,1,1,{long}\n"),
        format!("m,n,k,dtype,time_us\n1,1,1,{long},5\n"),
        format!("m,n,k,{long},{long}\n1,1,1,1,5\n"),
        format!("m,n,k,init,time_us\n1,1,1,{long},5\n1,1,1,zeros,5\n"),
        format!("direction,bytes,time_us\n{long},1,5\n"),
        format!("batch,time_us,{long}_time_us\n1,1,2\n"),
        format!("batch,{long}_a_time_ms,{long}_b_time_ms\n1,1,2\n"),
        format!("m,n,k,time_us,time_ms\n1,1,1,5.{},9\n", "0".repeat(100_000)),
        format!("m,n,k,time_us,tflops\n1,1,1,5,9.{}\n", "0".repeat(100_000)),
        format!("m,n,k,{long},time_us\n1,1,1,2\n"),
    ] {
        let shown = match import(&text) {
            Ok(imported) => format!("{:?}", imported.summary),
            Err(error) => format!("{error} {:?}", crate::diagnostic::Diagnostic::hint(&error)),
        };
        assert!(shown.len() < 1500, "{}: {}", &text[..40], shown.len());
    }
}

#[test]
fn a_copy_table_with_an_unknown_direction_is_refused() {
    let shown = refusal("direction,bytes,time_us\nsideways,4096,2\nh2d,4096,3\n");
    assert!(shown.contains("table.csv:2: ") && shown.contains("`sideways`"), "{shown}");
    assert!(shown.contains("h2d, d2h, d2d, p2p, h2h") && shown.contains("--family"), "{shown}");
    // With an op beside it, or another parameter, it is no table of copies.
    assert!(import("op,direction,bytes,time_us\nsort,up,4096,2\n").is_ok());
    assert!(import("direction,bytes,rows,time_us\nup,4096,2,2\n").is_ok());
}

#[test]
fn two_rows_on_one_line_are_both_told_of() {
    let text = "m,n,k,time_us\n1,1,1,5\n2,1,1,63,1,1,7\n4,1,1,8\n";
    let dropped = &import(text).unwrap().summary.dropped;
    assert!(dropped[0].reason.contains("the line holds more than one row"), "{dropped:?}");
}

#[test]
fn a_size_is_a_whole_number_of_elements() {
    let text = "name,gpus,size,type,time_us\nAllReduce,8,64,float,12\nAllReduce,8,3,float,12\n";
    let dropped = &import(text).unwrap().summary.dropped;
    assert_eq!(dropped[0].reason, "3 bytes are not a whole number of f32 elements");
}
