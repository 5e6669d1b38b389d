//! What the columns and members of a row are called: in capitals too, and as other tools call
//! the same parameter.
//!
//! A name that is exactly one of ours, or of a custom op of the machine, is always itself.

use kernelgauge_data::{Family, fields};

/// Names of parameters in other tools, each with ours. What may stand for two of ours is none.
const ALIASES: [(&str, &str); 30] = [
    ("batch_size", "batch"),
    ("batchsize", "batch"),
    ("batch_count", "batch"),
    ("bs", "batch"),
    ("data_type", "dtype"),
    ("datatype", "dtype"),
    ("num_tables", "tables"),
    ("num_rows", "rows"),
    ("cols", "columns"),
    ("num_cols", "columns"),
    ("num_columns", "columns"),
    ("embedding_dim", "dim"),
    ("pooling_factor", "pooling"),
    ("num_heads", "heads"),
    ("n_heads", "heads"),
    ("num_kv_heads", "kv_heads"),
    ("n_kv_heads", "kv_heads"),
    ("num_key_value_heads", "kv_heads"),
    ("head_size", "head_dim"),
    ("q_len", "query_len"),
    ("kv_length", "kv_len"),
    ("kv_seq_len", "kv_len"),
    ("window_size", "window"),
    ("world_size", "ranks"),
    ("num_ranks", "ranks"),
    ("nranks", "ranks"),
    ("num_nodes", "nodes"),
    ("nnodes", "nodes"),
    ("size_bytes", "bytes"),
    ("message_bytes", "bytes"),
];

/// Lengths of a sequence that may be that of the queries or that of the keys.
const LENGTHS: [&str; 6] = ["seq", "seq_len", "seqlen", "seq_length", "sequence_length", "isl"];

/// Every name that a row of some family can have, in no order.
pub fn known() -> impl Iterator<Item = &'static str> {
    let others = ["machine", "family", "op", "columns", "cache", "parameters"];
    others.into_iter().chain(Family::ALL.into_iter().flat_map(fields::columns).copied())
}

/// What the name `given` stands for where it is none of ours: one in capitals, or another
/// tool's.
pub fn stands_for(given: &str) -> Option<&'static str> {
    if known().any(|name| name == given) {
        return None;
    }
    let same = |name: &str| name.eq_ignore_ascii_case(given);
    let alias = || ALIASES.iter().find(|(alias, _)| same(alias)).map(|(_, name)| *name);
    known().find(|name| same(name)).or_else(alias)
}

/// Whether `given` is a length of which nobody knows whose it is.
pub fn is_some_length(given: &str) -> bool {
    LENGTHS.iter().any(|name| name.eq_ignore_ascii_case(given))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_understood_in_capitals_and_as_other_tools_write_them() {
        for (given, name) in [
            ("m", None),
            ("M", Some("m")),
            ("DType", Some("dtype")),
            ("Batch_Size", Some("batch")),
            ("batchsize", Some("batch")),
            ("world_size", Some("ranks")),
            ("note", None),
            ("seq_len", None),
        ] {
            assert_eq!(stands_for(given), name, "{given}");
        }
        assert!(is_some_length("Seq_Len") && !is_some_length("kv_len"));
        for (alias, name) in ALIASES {
            assert!(known().all(|known| known != alias), "{alias} is ours");
            assert!(known().any(|known| known == name), "{name} is not ours");
        }
    }
}
