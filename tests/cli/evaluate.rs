//! `calibrate evaluate` on points held out: what stands beside, and what may not be exceeded.

use std::fs;

use crate::calibrate::{calibrate, folder};

/// A small simulated data set in `name` of a fresh folder.
fn measured(name: &str) -> std::path::PathBuf {
    let folder = folder(name);
    let said = calibrate(&folder, "--device simulated --quick --ops copy,gemm --out a");
    assert_eq!(said.code, 0, "{}", said.stderr);
    folder
}

/// The names of a row of the table: machine, family, variant, split.
const ROW: &str = "simulated,gemm,f32,point";

#[test]
fn errors_above_their_limits_are_named_and_end_with_one() {
    let folder = measured("evaluate_limits");
    let head = "machine,family,variant,split,mape,median,p90,covered_least,covered_most\n";
    let limits =
        |rows: &str| fs::write(folder.join("limits.csv"), format!("{head}{rows}")).unwrap();
    let run = || calibrate(&folder, "evaluate a --splits point --limits limits.csv");

    limits(&format!("# all that is possible\n{ROW},1e6,,,0,100\nelsewhere,gemm,f32,point,0,,,,\n"));
    let said = run();
    assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{}", said.stdout);

    limits(&format!("{ROW},0,,,,\nsimulated,gemm,no-such,point,5,,,,\n"));
    let said = run();
    assert_eq!(said.code, 1);
    assert!(said.stdout.contains("gemm f32"), "{}", said.stdout);
    assert!(said.stderr.contains("simulated gemm f32 point: mean error "), "{}", said.stderr);
    assert!(said.stderr.contains(" % is above 0 %"), "{}", said.stderr);
    assert!(said.stderr.contains("gemm no-such point: was not evaluated"), "{}", said.stderr);
}

#[test]
fn peers_and_another_measurement_stand_beside() {
    let folder = measured("evaluate_beside");
    let rows =
        format!("machine,family,variant,split,name,mape,median,p90,source\n{ROW},other,4.25,,,x\n");
    fs::write(folder.join("peers.csv"), rows).unwrap();
    let line = "evaluate a --ops gemm --splits point --peers peers.csv --repeat a";
    let said = calibrate(&folder, line);
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    let of_row = said.stdout.lines().find(|line| line.starts_with("gemm f32")).unwrap();
    // Of the same data the repeat differs by nothing.
    assert!(of_row.ends_with("0.00  4.25"), "{}", said.stdout);
    let said = calibrate(&folder, &format!("{line} --format markdown"));
    assert!(said.stdout.contains("| other 4.25 / - / - |"), "{}", said.stdout);
}

#[test]
fn mistakes_in_files_and_bands_are_named() {
    let folder = measured("evaluate_mistakes");
    for (text, wrong) in [
        ("machine,family\na,b\n", "figures.csv:2: "),
        ("", "no row"),
        ("machine,family,variant,split,mape,median,p90,covered_least,covered_most\n", "no row"),
        (
            "machine,family,variant,split,mape,median,p90,covered_least,covered_most\n\
             a,b,c,d,4,2,,,\na,b,c,d,-1,,,,\n",
            "figures.csv:3: ",
        ),
        (
            "machine,family,variant,split,mape,median,p90,covered_least,covered_most\n\
             a,b,c,d,\"4,2\",,,,\n",
            "figures.csv:2: ",
        ),
    ] {
        fs::write(folder.join("figures.csv"), text).unwrap();
        let said = calibrate(&folder, "evaluate a --limits figures.csv");
        assert_eq!((said.code, said.stdout.as_str()), (2, ""), "{text}: {}", said.stderr);
        assert!(said.stderr.contains(wrong), "{text}: {}", said.stderr);
        assert!(said.stderr.contains("hint: "), "{}", said.stderr);
    }
    let host = concat!(env!("CARGO_MANIFEST_DIR"), "/data/machines/host-x86-64");
    for (line, wrong) in [
        ("evaluate a --limits nowhere.csv", "nowhere.csv: "),
        ("evaluate a --bands 0.4..0.2", "not a band"),
        ("evaluate a --bands 0.2..NaN", "not a band"),
        ("evaluate a --splits points", "invalid value `points`"),
        ("evaluate a --repeat nowhere", "nowhere"),
        (&format!("evaluate a --repeat {host}"), "and the repeat on "),
    ] {
        let said = calibrate(&folder, line);
        assert_eq!((said.code, said.stdout.as_str()), (2, ""), "{line}: {}", said.stderr);
        assert!(said.stderr.contains(wrong), "{line}: {}", said.stderr);
    }
}
