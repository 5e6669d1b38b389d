//! Small made-up tables of every kind, in both forms.

use super::*;
use crate::machine::Links;

const COMMON: &str = "framework,version,device,op_name,kernel_source";

fn import_as(text: &str, name: &str, options: &ImportOptions) -> Result<Imported, ImportError> {
    assert!(recognises(text), "not recognised: {text}");
    read_text(text, Path::new(name), options)
}

fn import(text: &str) -> Result<Imported, ImportError> {
    import_as(text, "table.txt", &ImportOptions::default())
}

fn found(imported: &Imported) -> Vec<(String, Option<u64>, &str)> {
    let records = imported.records.iter();
    records
        .map(|r| (r.point.to_string(), r.time().map(Nanos::get), r.conditions.kernel.as_str()))
        .collect()
}

#[test]
fn gemm_rows_keep_their_kernel_and_milliseconds_become_nanoseconds() {
    let text = format!(
        "{COMMON},gemm_dtype,m,n,k,latency,power\n\
         VLLM,1.0,Made-up GPU,gemm,kernel_a,bfloat16,8,16,32,0.0125,300\n\
         VLLM,1.0,Made-up GPU,gemm,kernel_b,bfloat16,8,16,32,0.0250,300\n\
         VLLM,1.0,Made-up GPU,gemm,kernel_a,int4_wo,8,16,32,0.0125,300\n\
         VLLM,1.0,Made-up GPU,gemm,kernel_a,fp8_block,8,16,32,-1,300\n"
    );
    let imported = import(&text).unwrap();
    let point = "gemm bf16 batch=1 m=8 n=16 k=32".to_owned();
    assert_eq!(
        found(&imported)[..2],
        [(point.clone(), Some(12_500), "kernel_a"), (point, Some(25_000), "kernel_b"),]
    );
    assert_eq!((imported.summary.kept, imported.summary.failed), (3, 1));
    assert_eq!(imported.summary.dropped[0].reason, "unknown gemm_dtype `int4_wo`");
    assert_eq!(imported.machine.software["vllm"], "1.0");
    assert_eq!(imported.machine.device.as_deref(), Some("Made-up GPU"));
}

#[test]
fn the_oldest_header_names_only_the_shape() {
    let imported = import("gemm_dtype,m,n,k,latency\nfp8,8,16,32,0.5\n").unwrap();
    assert_eq!(
        found(&imported),
        [("gemm fp8 batch=1 m=8 n=16 k=32".to_owned(), Some(500_000), "")]
    );
}

#[test]
fn rows_are_chosen_by_what_stands_in_their_columns() {
    let text = "gemm_dtype,m,n,k,layout,latency\nfp8,8,16,32,NN,0.5\nfp8,8,16,32,TN,0.7\n";
    let with = |condition: &str| {
        let conditions = vec![condition.parse().unwrap()];
        import_as(text, "table.txt", &ImportOptions { conditions, ..Default::default() })
    };
    let imported = with("layout=tn").unwrap();
    assert_eq!(imported.records.len(), 1);
    assert_eq!(imported.records[0].time().map(Nanos::get), Some(700_000));
    assert_eq!(imported.summary.notes, ["1 row left out by --where layout=tn"]);
    let error = with("layout=TT").unwrap_err().to_string();
    assert!(error.contains("no row is left by --where layout=TT"), "{error}");
}

#[test]
fn message_sizes_are_elements() {
    let text = "nccl_dtype,num_gpus,message_size,kernel_source,op_name,latency\n\
                half,2,256,NCCL,all_gather,0.00898\n\
                int8,8,256,NCCL,alltoall,0.0100\n\
                half,1,256,NCCL,all_reduce,0.0100\n";
    let options = ImportOptions { links: Links::Nvswitch, ..Default::default() };
    let imported = import_as(text, "nccl_perf.txt", &options).unwrap();
    assert_eq!(
        found(&imported),
        [
            ("collective all_gather/f16 ranks=2 nodes=1 bytes=512".to_owned(), Some(8_980), ""),
            ("collective all_to_all/int8 ranks=8 nodes=1 bytes=256".to_owned(), Some(10_000), ""),
        ]
    );
    assert!(imported.summary.dropped[0].reason.contains("at least 2 ranks"));
}

#[test]
fn attention_lengths_count_what_is_cached() {
    let columns = "batch_size,isl,num_heads,num_key_value_heads,head_dim,beam_width,attn_dtype,\
                   kv_cache_dtype,step,window_size,latency";
    let text = format!(
        "{COMMON},{columns}\n\
         VLLM,1.0,X,context_attention,fa,4,128,64,8,128,1,bfloat16,fp8,0,0,1.5\n\
         VLLM,1.0,X,generation_attention,fa,4,1,64,8,128,1,bfloat16,bfloat16,127,64,0.5\n\
         VLLM,1.0,X,generation_attention,fa,4,1,64,8,128,4,bfloat16,bfloat16,127,64,0.5\n"
    );
    let imported = import(&text).unwrap();
    let shape = "batch=4 heads=64 kv_heads=8 head_dim=128";
    assert_eq!(
        found(&imported),
        [
            (
                format!("attention context/bf16/fp8 {shape} query_len=128 kv_len=128 window=0"),
                Some(1_500_000),
                "fa"
            ),
            (
                format!("attention generation/bf16/bf16 {shape} query_len=1 kv_len=128 window=64"),
                Some(500_000),
                "fa"
            ),
        ]
    );
    assert_eq!(imported.summary.dropped[0].lines, [4]);
}

#[test]
fn the_phase_of_older_files_is_in_their_name() {
    let text = "batch_size,isl,num_heads,num_key_value_heads,head_dim,kv_cache_dtype,step,latency\n\
                4,1,8,8,64,float16,31,0.5\n";
    let options = ImportOptions { dtype: Some(crate::Dtype::F16), ..Default::default() };
    let imported = import_as(text, "generation_attention_perf.txt", &options).unwrap();
    assert!(found(&imported)[0].0.starts_with("attention generation/f16/f16"));
    let error = import_as(text, "table.txt", &options).unwrap_err();
    let expected = "table.txt:2: no usable rows; the first: phase is not stated (`--op context` \
                    or `--op generation`)";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn other_ops_and_mixed_devices_are_refused() {
    let moe = format!("{COMMON},moe_dtype,num_tokens,latency\nVLLM,1,X,moe,k,fp8,8,0.1\n");
    assert!(import(&moe).unwrap_err().to_string().contains("another op"));
    let mixed = format!(
        "{COMMON},gemm_dtype,m,n,k,latency\n\
         V,1,X,gemm,k,fp8,1,2,3,0.1\nV,1,Y,gemm,k,fp8,1,2,4,0.1\n"
    );
    let error = import(&mixed).unwrap_err().to_string();
    assert!(error.starts_with("table.txt:3: measured on `Y`"), "{error}");
    let cut = "gemm_dtype,m,n,k,latency\nfp8,8,16,32,0.5\nfp8,8,16,64,0.";
    assert_eq!(import(cut).unwrap().summary.dropped_rows(), 1);
}

#[cfg(feature = "parquet")]
mod in_parquet {
    use std::sync::Arc;

    use ::parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
    use ::parquet::file::properties::WriterProperties;
    use ::parquet::file::writer::SerializedFileWriter;
    use ::parquet::schema::parser::parse_message_type;

    use super::*;

    /// Two rows of a GEMM table.
    fn file() -> Vec<u8> {
        let schema = "message schema { optional binary framework (UTF8); \
                      optional binary gemm_dtype (UTF8); optional int64 m; optional int64 n; \
                      optional int64 k; optional double latency; }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let properties = Arc::new(WriterProperties::builder().build());
        let mut writer = SerializedFileWriter::new(Vec::new(), schema, properties).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let levels = Some(&[1_i16, 1][..]);
        let text = |value: &str| [ByteArray::from(value), ByteArray::from(value)];
        for values in [text("VLLM"), text("bfloat16")] {
            let mut column = group.next_column().unwrap().unwrap();
            column.typed::<ByteArrayType>().write_batch(&values, levels, None).unwrap();
            column.close().unwrap();
        }
        for values in [[8_i64, 16], [32, 32], [64, 64]] {
            let mut column = group.next_column().unwrap().unwrap();
            column.typed::<Int64Type>().write_batch(&values, levels, None).unwrap();
            column.close().unwrap();
        }
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<DoubleType>().write_batch(&[0.0125, 0.025], levels, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.into_inner().unwrap()
    }

    #[test]
    fn parquet_and_text_say_the_same() {
        let path = Path::new("gemm_perf.parquet");
        let binary = read_parquet(&file(), path, &ImportOptions::default()).unwrap();
        let text = "framework,gemm_dtype,m,n,k,latency\n\
                    VLLM,bfloat16,8,32,64,0.0125\nVLLM,bfloat16,16,32,64,0.025\n";
        assert_eq!(binary.records, import(text).unwrap().records);
    }

    #[test]
    fn a_cut_or_changed_file_is_an_error_and_never_a_panic() {
        let whole = file();
        let read = |bytes: &[u8]| read_parquet(bytes, Path::new("x"), &ImportOptions::default());
        for length in (0..whole.len()).step_by(7) {
            assert!(read(&whole[..length]).is_err(), "{length}");
        }
        for at in (0..whole.len()).step_by(3) {
            let mut changed = whole.clone();
            changed[at] ^= 0x55;
            // Any answer will do, as long as it is one.
            let _ = read(&changed);
        }
    }
}
