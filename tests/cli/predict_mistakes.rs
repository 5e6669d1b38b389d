//! What `predict` says to a command line, a model or an output that is no good.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::process::{Command, Stdio};

use crate::command::{Said, predict};
use crate::made_up_machine::folder;

fn refused(code: i32, stderr: &str) -> Said {
    Said { code, stdout: String::new(), stderr: stderr.to_owned() }
}

#[test]
fn a_mistake_on_the_command_line_is_two_lines_and_exit_code_2() {
    for (line, expected) in [
        (
            "",
            "error: what shall be predicted?\n\
             hint: `predict machines` lists the machines, `predict --help` the questions\n",
        ),
        (
            "al-reduce --bytes 8",
            "error: unrecognized subcommand `al-reduce`\n\
             hint: did you mean `all-reduce`? `predict --help` lists every command\n",
        ),
        (
            "gemm -m -1 -n 1 -k 1",
            "error: invalid value `-1` for `-m <M>`: not a whole number from 1 to 18446744073709551615\n\
             hint: `predict --help` shows every command and option\n",
        ),
        (
            "gemm -m NaN -n 1 -k 1",
            "error: invalid value `NaN` for `-m <M>`: not a whole number from 1 to 18446744073709551615\n\
             hint: `predict --help` shows every command and option\n",
        ),
        (
            "gemm -m 99999999999999999999 -n 1 -k 1",
            "error: invalid value `99999999999999999999` for `-m <M>`: not a whole number from 1 to \
             18446744073709551615\n\
             hint: `predict --help` shows every command and option\n",
        ),
        (
            "attention --phase context --batch 1 --heads 32 --kv-heads 5 --head-dim 128 --kv-len 64 \
             --dtype bf16 --machine h100-sxm",
            "error: `heads` 32 is not a multiple of `kv_heads` 5: each key and value head serves \
             equally many query heads\n",
        ),
        (
            "gemm -n 1 -k 1",
            "error: the following required arguments were not provided: -m <M>\n\
             hint: `predict gemm --help` shows every option\n",
        ),
    ] {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(predict(&words), refused(2, expected), "predict {line}");
    }
}

#[test]
fn arguments_need_not_be_text() {
    let odd = || OsString::from_vec(vec![b'x', 0xff]);
    let words: Vec<OsString> = "gemm -m 1 -n 1 -k 1 --machine".split(' ').map(Into::into).collect();
    let said = predict(&[words.as_slice(), &[odd()]].concat());
    assert_eq!(said.code, 2);
    assert!(said.stderr.starts_with("error: no such machine or file: `x\u{fffd}`"));
    for words in [vec![odd()], vec!["gemm".into(), "--dtype".into(), odd()]] {
        let said = predict(&words);
        assert_eq!((said.code, said.stdout.as_str()), (2, ""));
        assert!(said.stderr.starts_with("error: ") && said.stderr.contains("\nhint: "));
    }
}

#[test]
fn a_file_that_is_no_model_is_refused_with_its_name() {
    let folder = folder("no_models");
    let file = |name: &str, content: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, content).unwrap();
        path.display().to_string()
    };
    let mut tar = vec![0_u8; 1024];
    tar[..10].copy_from_slice(b"model.json");
    tar[257..262].copy_from_slice(b"ustar");
    let newer = br#"{"format":"kernelgauge-model","format_version":99}"#;
    let empty = folder.join("empty_folder");
    fs::create_dir_all(&empty).unwrap();
    for (machine, expected) in [
        (file("empty.json", b""), "empty.json is not a model file: it seems to be empty"),
        (
            file("list.json", b"[1, 2]"),
            "list.json is not a model file: it seems to be a JSON array",
        ),
        (file("x.tar", &tar), "x.tar is not a model file: it seems to be a tar archive"),
        (file("x.csv", b"m,n\n1,2\n"), "x.csv is not a model file: it seems to be a CSV table"),
        (file("foreign.json", br#"{"format":"pickle"}"#), "foreign.json: not a model"),
        (file("newer.json", newer), "99 is newer than"),
        (file("binary.json", b"\xff\xfe\x00"), "binary.json is not a model file: it seems to be"),
        (file("deep.json", "{\"a\":".repeat(200_000).as_bytes()), "deep.json: "),
        (empty.display().to_string(), "holds no model.json"),
        ("/dev/zero".to_owned(), "/dev/zero is not a regular file"),
        ("nowhere/model.json".to_owned(), "no such machine or file: `nowhere/model.json`"),
        (String::new(), "no such machine or file: ``"),
        ("h".to_owned(), "no such machine or file: `h`"),
        ("l4".to_owned(), "no such machine or file: `l4`"),
        ("h200-smx".to_owned(), "hint: did you mean `h200-sxm`? shipped: "),
    ] {
        let said = predict(&["gemm", "-m1", "-n1", "-k1", "--dtype=f32", "--machine", &machine]);
        assert_eq!((said.code, said.stdout.as_str()), (2, ""), "{machine}");
        assert!(said.stderr.contains(expected), "{machine}: {}", said.stderr);
        assert!(said.stderr.contains("\nhint: "), "{machine}: {}", said.stderr);
    }
    let said = predict(&["gemm", "-m1", "-n1", "-k1", "--dtype=f32"]);
    assert!(said.stderr.starts_with("error: which machine?\nhint: add --machine"));
}

#[test]
fn the_texts_of_the_build_are_there() {
    let version = predict(&["--version"]).stdout;
    assert!(
        version.starts_with("predict 0.") && version.contains("git ") && version.contains("data ")
    );
    for (kind, content) in [
        ("man", ".SH \"PREDICT ALL-REDUCE\""),
        ("complete-bash", "complete -F _predict"),
        ("complete-zsh", "#compdef predict"),
        ("complete-fish", "complete -c predict"),
    ] {
        let said = predict(&["--generate", kind]);
        assert_eq!(said.code, 0);
        assert!(said.stdout.contains(content), "{kind}: {}", said.stdout);
    }
}

#[test]
fn a_reader_that_leaves_is_no_error_and_a_full_disk_is_one() {
    let run = |output: Stdio| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_predict"));
        child.arg("--help").stdout(output).stderr(Stdio::piped()).spawn().unwrap()
    };
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = run(writer.into()).wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));

    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = run(Stdio::from(full)).wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(said.starts_with("error: cannot write the answer: No space left"), "{said}");
}
