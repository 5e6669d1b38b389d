//! Bytes that are no table of anybody: whatever they are, there is an answer and no panic.

use super::*;
use crate::diagnostic::Diagnostic;

const NCCL_TESTS: &str = "# nThread 1 nGpus 2 minBytes 8 maxBytes 64 step: 2(factor)\n\
    # Using devices\n#   Rank  0 Pid  1 on host device  0 [0x07] NVIDIA H100\n\
    #   Rank  1 Pid  1 on host device  1 [0x0f] NVIDIA H100\n\
    #       size         count      type   redop     time   algbw   busbw  error     time   algbw   busbw  error\n\
    #        (B)    (elements)                       (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n\
           8             2     float     sum    6.20    0.00    0.00  0e+00    6.10    0.00    0.00  0e+00\n\
          64            16     float     sum    6.31    0.01    0.01  0e+00    6.22    0.01    0.01  0e+00\n\
    # Avg bus bandwidth    : 0.0\n";

const JSON: &str = "{\"version\": 1, \"env\": {\"A\": \"b\"}, \"results\": [{\"size\": 8, \
    \"out_of_place\": {\"time\": \"nan\", \"alg_bw\": 1.5}}]}";

const PARAM: &str = "\tCOMMS-RES\ttotal-size (B)\tnElementsPerRank\tLatency(us):p50\tp75\tp95\n\
    \tCOMMS-RES\t1024\t256\t9.5e-01-1.1\t1.2\t1.3\n";

const CSV: &str = "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\n\
    VLLM,0.9,NVIDIA H200,gemm,torch,bfloat16,8,16,32,0.0042\n";

#[test]
fn no_bytes_make_an_import_panic() {
    let seeds = [NCCL_TESTS, JSON, PARAM, CSV, "PAR1\x15\x04PAR1", "m,n,k,time_us\n1,2,3,4\n"];
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below.max(1) as u64) as usize
    };
    let options = ImportOptions::default();
    for round in 0..6000 {
        let mut bytes = seeds[round % seeds.len()].as_bytes().to_vec();
        for _ in 0..=random(4) {
            let at = random(bytes.len() + 1);
            match random(4) {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, random(256) as u8),
                2 if at < bytes.len() => bytes[at] = random(256) as u8,
                _ => {
                    // A piece of the text again, as when two processes share a file.
                    let end = (at + random(200)).min(bytes.len());
                    let piece = bytes[at..end].to_vec();
                    let to = random(bytes.len() + 1);
                    bytes.splice(to..to, piece);
                }
            }
        }
        match import_bytes(&bytes, Path::new("mutant"), &options) {
            Ok(imported) => assert!(imported.records.iter().all(|r| r.point.check().is_ok())),
            Err(error) => assert!(error.to_string().starts_with("mutant"), "{error}"),
        }
    }
}

#[test]
fn files_over_the_limit_and_archives_are_refused_with_a_remedy() {
    let folder = crate::test_folder("import_limits");
    let path = folder.join("table.csv");
    std::fs::write(&path, "m,n,k,time_us\n1,2,3,4\n").unwrap();
    let options = ImportOptions { max_bytes: 10, ..ImportOptions::default() };
    let error = import(&path, &options).unwrap_err();
    assert!(error.to_string().ends_with("22 B is over the limit of 10 B for one input file"));
    assert!(matches!(
        import(&folder, &options),
        Err(ImportError::Read { .. } | ImportError::TooLarge { .. })
    ));
    let zip = import_bytes(b"PK\x03\x04", Path::new("a.csv"), &options).unwrap_err();
    assert_eq!(zip.hint().as_deref(), Some("unpack it and import the files it holds"));
}

#[test]
fn a_log_has_no_columns_to_choose_rows_by() {
    let conditions = vec!["size=8".parse().unwrap()];
    let options = ImportOptions { conditions, ..ImportOptions::default() };
    for log in [NCCL_TESTS, JSON, PARAM] {
        let error = import_bytes(log.as_bytes(), Path::new("log"), &options).unwrap_err();
        assert!(error.to_string().contains("--where chooses rows"), "{error}");
    }
}
