//! Questions in files.

use std::fs;

use serde_json::Value;

use crate::command::{Said, predict, predict_reading};
use crate::made_up_machine::{folder, model_file};

#[test]
fn every_row_is_answered_in_order_or_says_why_not() {
    let model = model_file("batch").display().to_string();
    let csv = "\u{feff}# shapes of one layer\r\n\
               layer,op,dtype,m,n,k,ranks,bytes\r\n\
               \"a, b\",gemm,bf16,256,4096,4096,,\r\n\
               c,all-reduce,f16,,,,8,1048576\r\n\
               \r\n\
               d,gemm,bf16,-1,4096,4096,,\r\n\
               e,gem,bf16,1,4096,4096,,\r\n\
               f,gemm,bf16\r\n\
               g,all_reduce,bf16,,,,2,1024";
    let said = predict_reading(&["batch", "-", "--machine", &model], csv);
    let lines: Vec<&str> = said.stdout.lines().collect();
    let times = ["88.899", "6.67", "", "", "", "3.002"];
    assert_eq!(lines.len(), 1 + times.len(), "{}", said.stdout);
    assert_eq!(
        lines[0],
        "layer,op,dtype,m,n,k,ranks,bytes,time_us,low_us,high_us,domain,basis,machine,answered_by,\
         error"
    );
    assert!(lines[1].starts_with("\"a, b\",gemm,bf16,256,4096,4096,,,88.899,"), "{}", lines[1]);
    assert!(lines[1].ends_with(",inside,measured,synthetic-8x,,"), "{}", lines[1]);
    assert!(lines[6].ends_with(",inside,measured,synthetic-8x,f16,"), "{}", lines[6]);
    for (line, time) in lines[1..].iter().zip(times) {
        let from_end = line.rsplit(',').nth(7).unwrap_or_default();
        assert!(time.is_empty() || from_end == time, "{line}");
    }
    assert!(lines[3].ends_with(",,,,,,,,\"m is `-1`, not a whole number\""), "{}", lines[3]);
    assert_eq!(said.code, 1);
    assert_eq!(
        said.stderr,
        "error: standard input:6: m is `-1`, not a whole number\n\
         error: standard input:7: unknown op `gem`\n\
         hint: did you mean `gemm`? known: gemm, embedding, memory, copy, collective, attention, \
         custom, add, scale, relu, sigmoid, gelu, sum, softmax, layer_norm, transpose, concat, \
         fill, dropout, cast, triangle, layer_norm_backward, all_reduce, all_gather, \
         reduce_scatter, all_to_all, all_to_all_v, broadcast, reduce, gather, scatter, send_recv, my_kernel\n\
         error: standard input:8: 3 cells, but 8 columns\n\
         note: the last line has no end of line: was the file cut?\n\
         note: column `layer` was not read\n\
         note: all-reduce was not measured in bf16; f16 answers for it at the same bytes (1 rows)\n\
         warning: synthetic-8x was fitted to synthetic data; its times mean nothing\n\
         error: 3 of 6 rows have no answer\n"
    );

    let json = "{\"m\": 256, \"n\": 4096, \"k\": 4096, \"dtype\": \"bf16\", \"time_us\": 1}\n\
                [1]\n\
                {\"op\":\"gemm\",\"m\":1}\n";
    let said = predict_reading(&["batch", "-", "--machine", &model], json);
    let rows: Vec<Value> =
        said.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((said.code, rows.len()), (1, 3));
    assert_eq!((&rows[0]["time_us"], &rows[0]["given_time_us"]), (&88.899.into(), &1.into()));
    assert_eq!((&rows[0]["error"], &rows[1]["input"]), (&Value::Null, &"[1]".into()));
    assert_eq!(
        (&rows[2]["error"], &rows[2]["time_us"]),
        (&"which dtype? synthetic-8x has gemm in f32, bf16".into(), &Value::Null)
    );
    assert_eq!(rows[2]["m"], 1);
}

/// The same question alone and in a file has the same answer, whatever is left out of it.
#[test]
fn what_a_row_leaves_out_has_the_default_of_the_single_question() {
    let model = model_file("defaults").display().to_string();
    for (header, row, question) in [
        ("op,ranks,bytes", "all_reduce,8,1048576", "all-reduce --ranks 8 --bytes 1MiB"),
        ("op,dtype,ranks,bytes", "all_reduce,,8,3000", "all-reduce --ranks 8 --bytes 3000"),
        ("op,rows,columns", "softmax,64,1024", "softmax --rows 64 --columns 1024"),
        ("op,width,batch", "my_kernel,64,5", "custom my_kernel --set width=64 --set batch=5"),
        (
            "family,op,parameters",
            "custom,my_kernel,batch=5;width=64",
            "custom my_kernel --set width=64 --set batch=5",
        ),
    ] {
        let batch =
            predict_reading(&["batch", "-", "--machine", &model], &format!("{header}\n{row}\n"));
        let options = ["--format", "json", "--machine", &model];
        let alone = predict(&question.split(' ').chain(options).collect::<Vec<_>>());
        let json: Value = serde_json::from_str(&alone.stdout).unwrap();
        assert_eq!(batch.code, 0, "{row}: {}", batch.stderr);
        let expected =
            format!("\n{row},{},{},{},", json["time_us"], json["low_us"], json["high_us"]);
        let trimmed = |text: &str| text.replace(".0,", ",");
        assert!(
            trimmed(&batch.stdout).contains(&trimmed(&expected)),
            "{} {expected}",
            batch.stdout
        );
    }
}

#[test]
fn an_op_of_the_machines_own_is_named_by_the_command_or_by_each_row() {
    let model = model_file("own_ops").display().to_string();
    let arguments = ["batch", "-", "--machine", &model, "--op", "my_kernel"];
    let said = predict_reading(&arguments, "batch,width\n4,64\n4,\nfour,64\n");
    let lines: Vec<&str> = said.stdout.lines().collect();
    assert!(lines[1].starts_with("4,64,4.56,"), "{}", lines[1]);
    assert!(lines[2].ends_with(",`width` is missing"), "{}", lines[2]);
    assert!(lines[3].ends_with(",\"batch is `four`, not a whole number\""), "{}", lines[3]);

    let json = "{\"op\":\"my_kernel\",\"batch\":4,\"width\":64}\n{\"op\":\"my_kernle\"}\n";
    let said = predict_reading(&["batch", "-", "--machine", &model], json);
    assert!(said.stdout.contains("\"time_us\":4.56,"), "{}", said.stdout);
    assert!(said.stderr.contains("hint: did you mean `my_kernel`? known: "), "{}", said.stderr);

    // No column of it is taken for a slip.
    let said = predict_reading(&["batch", "-", "--machine", &model], "op,width,batch\n");
    assert_eq!(
        said.stderr,
        "warning: synthetic-8x was fitted to synthetic data; its times mean nothing\n"
    );
    let gemm = "{\"op\":\"gemm\",\"m\":8,\"n\":1024,\"k\":1024}\n";
    let said = predict_reading(&["batch", "-", "--machine", &model], gemm);
    assert!(said.stderr.contains("hint: add a column `dtype`, such as f32\n"), "{}", said.stderr);
}

#[test]
fn rows_may_name_their_machine() {
    let model = model_file("row_machines").display().to_string();
    let csv = format!("dtype,m,n,k,machine\nbf16,256,4096,4096,{model}\nbf16,1,1,1,nowhere\n");
    let said = predict_reading(&["batch", "-"], &csv);
    let lines: Vec<&str> = said.stdout.lines().collect();
    assert!(lines[0].starts_with("dtype,m,n,k,given_machine,time_us,"), "{}", lines[0]);
    assert!(lines[1].contains(",88.899,") && lines[1].ends_with(",synthetic-8x,,"), "{}", lines[1]);
    assert!(lines[2].ends_with(",no such machine or file: `nowhere`"), "{}", lines[2]);
    assert_eq!(said.code, 1);
}

#[test]
fn an_input_that_is_no_batch_is_refused() {
    let folder = folder("no_batches");
    for (name, content, expected) in [
        ("empty.csv", &b""[..], "is empty\nhint: "),
        ("blank.csv", b"\n \n", "is empty\nhint: "),
        ("semicolons.csv", b"m;n;k\n1;2;3\n", "columns are separated by `;`\nhint: use ','"),
        ("twice.csv", b"m,n,m\n1,2,3\n", "column `m` is there twice\nhint: "),
        ("array.json", b"[{\"m\":1}]\n", "is a JSON array, not one object a line\nhint: `jq"),
        (
            "pointer.csv",
            b"version https://git-lfs.github.com/spec/v1\n",
            "hint: run `git lfs pull`",
        ),
        ("packed.csv.gz", b"\x1f\x8b\x08\x00", "is not text\nhint: "),
    ] {
        let path = folder.join(name);
        fs::write(&path, content).unwrap();
        let said = predict(&["batch", path.to_str().unwrap()]);
        assert_eq!((said.code, said.stdout.as_str()), (2, ""), "{name}");
        assert!(said.stderr.contains(name) && said.stderr.contains(expected), "{}", said.stderr);
    }
    let nobody = predict_reading(&["batch", "-"], "dtype,m,n,k\n");
    assert_eq!((nobody.code, nobody.stdout.as_str()), (2, ""));
    assert!(nobody.stderr.starts_with("error: which machine?\nhint: add --machine"));
    let missing = predict(&["batch", "no/such/file.csv"]);
    assert_eq!(missing.code, 2);
    assert!(missing.stderr.starts_with("error: cannot read no/such/file.csv: No such file"));
    let folder = predict(&["batch", folder.to_str().unwrap()]);
    assert!(folder.stderr.contains("is a folder"), "{}", folder.stderr);
    let op = predict(&["batch", "-", "--op", "gem"]);
    assert!(op.stderr.starts_with("error: --op: unknown op `gem`\nhint: did you mean `gemm`?"));
}

#[test]
fn a_header_alone_is_a_batch_of_nothing() {
    let said = predict_reading(&["batch", "-"], "machine,m,n,k\n");
    let header =
        "given_machine,m,n,k,time_us,low_us,high_us,domain,basis,machine,answered_by,error\n";
    assert_eq!(said, Said { code: 0, stdout: header.to_owned(), stderr: String::new() });
    let said = predict_reading(&["batch", "-"], "machine,bacth,m,n,k\n");
    assert_eq!(said.stderr, "warning: column `bacth` is passed through; did you mean `batch`?\n");
}

/// Changes bytes of `input` here and there: overwrites, deletes, doubles, cuts.
fn mutated(input: &[u8], seed: u64) -> Vec<u8> {
    const NASTY: &[u8] = b",\"\n\r{}[]:;#\\0-9.e\xff\x00 ";
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut draw = |below: usize| {
        // xorshift64: any even-handed source will do here.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below.max(1) as u64) as usize
    };
    let mut bytes = input.to_vec();
    for _ in 0..1 + draw(8) {
        let at = draw(bytes.len());
        match draw(4) {
            0 => bytes[at] = NASTY[draw(NASTY.len())],
            1 if bytes.len() > 1 => drop(bytes.remove(at)),
            2 => bytes.insert(at, NASTY[draw(NASTY.len())]),
            _ => bytes.truncate(at + 1),
        }
    }
    bytes
}

#[test]
fn no_input_makes_a_batch_panic_or_invent_rows() {
    let model = model_file("mutations").display().to_string();
    let path = folder("mutations").join("input");
    let csv =
        &b"layer,op,dtype,m,n,k\n\"a,\nb\",gemm,bf16,256,4096,4096\nc,gemm,f32,8,1024,1024\n"[..];
    let json =
        &b"{\"op\":\"gemm\",\"dtype\":\"bf16\",\"m\":8,\"n\":1024,\"k\":1024}\n{\"m\":1}\n"[..];
    for seed in 0..400 {
        let input = mutated(if seed % 2 == 0 { csv } else { json }, seed);
        fs::write(&path, &input).unwrap();
        let arguments = ["predict", "batch", path.to_str().unwrap(), "--machine", &model];
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let status = kernelgauge_predict::run(
            arguments.into_iter().map(Into::into),
            &mut out,
            &mut err,
            &kernelgauge_predict::BuildInfo::plain(),
        );
        let lines = |text: &[u8]| text.iter().filter(|byte| **byte == b'\n').count();
        assert!(status.code() <= 2, "seed {seed}");
        assert!(status.code() == 0 || !err.is_empty(), "seed {seed} failed in silence");
        assert!(lines(&out) <= lines(&input) + 1, "seed {seed} grew");
        assert!(std::str::from_utf8(&out).is_ok(), "seed {seed} wrote no text");
    }
}

/// What is not read does not go unsaid: `batch_size` was passed through, and batch was 1.
#[test]
fn no_column_is_ignored_in_silence() {
    let ask = |text: &str| predict_reading(&["batch", "-", "--machine", "h200-sxm"], text);
    let plain = ask("dtype,batch,m,n,k\nbf16,1,512,4096,4096\n");
    assert_eq!((plain.code, plain.stderr.as_str()), (0, ""));
    let time = |said: &Said, at: usize| {
        let row = said.stdout.lines().nth(1).unwrap_or_default().to_owned();
        row.split(',').nth(at).unwrap_or_default().to_owned()
    };
    let said = ask("DType,M,N,K,note,seq_len\nbf16,512,4096,4096,x,7\n");
    assert_eq!(time(&said, 6), time(&plain, 5));
    assert_eq!(said.stderr, "note: columns `note`, `seq_len` were not read\n");
    let said = ask("dtype,batch_size,m,n,k\nbf16,2,512,4096,4096\n");
    assert!(said.stderr.starts_with("note: column `batch_size` is read as `batch`\n"), "{said:?}");
    assert!(said.stderr.contains("batch = 2: h200-sxm was measured only at batch = 1"), "{said:?}");
    let said = ask("{\"dtype\":\"bf16\",\"M\":512,\"n\":4096,\"k\":4096,\"note\":1}\n");
    assert_eq!((said.code, said.stderr.as_str()), (0, "note: column `note` was not read\n"));
    let said = ask("phase,dtype,batch,heads,seq_len\ncontext,bf16,1,32,1024\n");
    assert_eq!(said.code, 2);
    assert!(said.stderr.contains("column `seq_len` may be `query_len` or `kv_len`\nhint: name it"));
}

#[test]
fn a_quote_that_swallows_rows_and_a_name_given_twice_are_told_with_their_line() {
    let ask = |text: &str| predict_reading(&["batch", "-", "--machine", "h200-sxm"], text);
    let said = ask("note,dtype,m,n,k\na,bf16,512,4096,4096\n\"b,bf16,1,1,1\nc,bf16,1,1,1\n");
    assert_eq!(said.code, 1);
    assert!(
        said.stderr.contains(
            "standard input:3: a quote is opened here and never closed; the line after it is \
             taken for part of this row\n"
        ),
        "{}",
        said.stderr
    );
    let said = ask("{\"dtype\":\"bf16\",\"m\":1,\"n\":4096,\"k\":4096,\"m\":512}\n");
    assert!(said.stderr.contains("standard input:1: ") && said.code == 1, "{}", said.stderr);
    assert!(said.stderr.contains("`m` is there twice"), "{}", said.stderr);
}

#[test]
fn a_row_may_ask_for_cold_operands() {
    let csv = "op,dtype,rows,columns,cache\n\
               add,f32,1,1000000,hot\nadd,f32,1,1000000,cold\nadd,f32,1,1000000,tepid\n";
    let said = predict_reading(&["batch", "-", "--machine", "host-x86-64"], csv);
    let times: Vec<f64> = said
        .stdout
        .lines()
        .skip(1)
        .filter_map(|line| line.split(',').nth(5)?.parse().ok())
        .collect();
    assert!(times.len() == 2 && times[1] > times[0], "{}", said.stdout);
    assert!(said.stderr.contains("standard input:4: cache: unknown cache state `tepid`"));
}
