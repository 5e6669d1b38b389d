//! The names under which the fields of each family are found in foreign tables, ours first.

use crate::family::Family;

/// A field of ours and the normalised column names that mean it.
pub(super) type Aliases = (&'static str, &'static [&'static str]);

const DTYPE: Aliases =
    ("dtype", &["dtype", "type", "data_type", "datatype", "precision", "gemm_dtype", "prec"]);
const BATCH: Aliases = ("batch", &["batch", "batch_size", "batch_count", "bs", "b"]);
const BYTES: Aliases =
    ("bytes", &["bytes", "size", "size_b", "size_bytes", "bytes_b", "nbytes", "num_bytes"]);

const GEMM: [Aliases; 6] =
    [DTYPE, BATCH, ("m", &["m"]), ("n", &["n"]), ("k", &["k"]), ("layout", &["layout"])];

const EMBEDDING: [Aliases; 9] = [
    ("direction", &["direction", "pass"]),
    DTYPE,
    ("tables", &["tables", "num_tables", "n_tables", "t"]),
    ("rows", &["rows", "num_embeddings", "num_rows", "rows_per_table", "hash_size", "e"]),
    ("dim", &["dim", "embedding_dim", "emb_dim", "d"]),
    BATCH,
    ("pooling", &["pooling", "pooling_factor", "bag_size", "lookups", "l"]),
    ("distribution", &["distribution"]),
    ("optimizer", &["optimizer", "optimiser"]),
];

const MEMORY: [Aliases; 7] = [
    ("op", &["op", "op_name", "operation", "name"]),
    DTYPE,
    ("elements", &["elements", "numel", "num_elements", "n_elements"]),
    ("rows", &["rows"]),
    ("columns", &["columns", "cols"]),
    ("bytes_read", &["bytes_read"]),
    ("bytes_written", &["bytes_written"]),
];

const COPY_DIRECTION: [&str; 6] =
    ["direction", "copy_direction", "kind", "copy_kind", "memcpy_kind", "transfer"];

const COPY: [Aliases; 3] =
    [("direction", &COPY_DIRECTION), ("pinned", &["pinned", "page_locked"]), BYTES];

const COLLECTIVE: [Aliases; 6] = [
    ("collective", &["collective", "coll", "op", "op_name", "operation", "name"]),
    DTYPE,
    ("ranks", &["ranks", "num_ranks", "nranks", "world_size", "gpus", "num_gpus", "ngpus"]),
    ("nodes", &["nodes", "num_nodes", "nnodes"]),
    ("links", &["links"]),
    BYTES,
];

const ATTENTION: [Aliases; 10] = [
    ("phase", &["phase", "stage"]),
    DTYPE,
    BATCH,
    ("heads", &["heads", "num_heads", "n_heads", "q_heads", "num_q_heads"]),
    ("kv_heads", &["kv_heads", "num_kv_heads", "n_kv_heads", "num_key_value_heads"]),
    ("head_dim", &["head_dim", "head_size", "d_head", "headdim"]),
    ("query_len", &["query_len", "isl", "q_len", "seq", "seq_len", "seqlen", "sequence_length"]),
    ("kv_len", &["kv_len", "k_len", "context_len", "context_length"]),
    ("kv_dtype", &["kv_dtype", "kv_cache_dtype"]),
    ("window", &["window", "window_size"]),
];

/// Columns that name the op itself.
pub(super) const OP: [&str; 4] = ["op", "op_name", "operation", "name"];

/// The op of a custom table, and its dtype, which becomes part of the op's name.
const CUSTOM: [Aliases; 2] = [
    ("op", &["op", "op_name", "operation", "name", "benchmark", "op_type", "operator", "function"]),
    DTYPE,
];

/// The fields of `family` and their names.
pub(super) fn of(family: Family) -> &'static [Aliases] {
    match family {
        Family::Gemm => &GEMM,
        Family::Embedding => &EMBEDDING,
        Family::Memory => &MEMORY,
        Family::Copy => &COPY,
        Family::Collective => &COLLECTIVE,
        Family::Attention => &ATTENTION,
        Family::Custom => &CUSTOM,
    }
}

/// Fields without which a table is not taken for `family`; what else is absent has a neutral
/// value or can be stated by the caller.
pub(super) fn required(family: Family) -> &'static [&'static str] {
    match family {
        Family::Gemm => &["m", "n", "k"],
        Family::Embedding => &["tables", "rows", "dim", "batch", "pooling"],
        Family::Memory => &["op"],
        Family::Copy => &["bytes"],
        Family::Collective => &["collective", "ranks", "bytes"],
        Family::Attention => &["batch", "heads", "head_dim", "query_len"],
        Family::Custom => &[],
    }
}
