//! Every kernel source with its entry points.
//!
//! The texts are those of `cuda/kernels`; what each kernel does and takes stands there. Tests
//! look every entry up in its source, and the compile stage of CI compares both ways.

use super::geometry::Rule;

/// A file that sources include.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The name it is included by.
    pub file: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// One source file, compiled as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    /// Its name.
    pub file: &'static str,
    /// Its text.
    pub text: &'static str,
    /// Its kernels.
    pub entries: &'static [Entry],
}

/// One kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The symbol.
    pub name: &'static str,
    /// How it is launched.
    pub rule: Rule,
}

macro_rules! text {
    ($file:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/", $file))
    };
}

/// A source and its entries, grouped by the rule they share.
macro_rules! source {
    ($file:literal, $($rule:expr => [$($name:literal),+ $(,)?]),+ $(,)?) => {
        Source {
            file: $file,
            text: text!($file),
            entries: &[$($(Entry { name: $name, rule: $rule }),+),+],
        }
    };
}

/// What a GPU needs of the headers; `host.h` is not among them.
pub const HEADERS: [Header; 3] = [
    Header { file: "device.h", text: text!("device.h") },
    Header { file: "rows.h", text: text!("rows.h") },
    Header { file: "bags.h", text: text!("bags.h") },
];

const FLAT_4: Rule = Rule::Flat { bytes: 4 };
const FLAT_2: Rule = Rule::Flat { bytes: 2 };

/// Every source.
pub const SOURCES: [Source; 13] = [
    source!("elementwise.cu",
        FLAT_4 => ["add_f32", "scale_f32", "relu_f32", "sigmoid_f32", "gelu_f32", "fill_f32"],
        FLAT_2 => [
            "add_f16", "scale_f16", "relu_f16", "sigmoid_f16", "gelu_f16", "fill_f16",
            "add_bf16", "scale_bf16", "relu_bf16", "sigmoid_bf16", "gelu_bf16", "fill_bf16",
        ],
    ),
    source!("reduction.cu",
        Rule::WarpPerRow => [
            "sum_warp_f32", "sum_warp_f16", "sum_warp_bf16",
            "sum_join_f32", "sum_join_f16", "sum_join_bf16",
        ],
        Rule::BlockPerRow => ["sum_block_f32", "sum_block_f16", "sum_block_bf16"],
        Rule::Split => ["sum_split_f32", "sum_split_f16", "sum_split_bf16"],
    ),
    source!("softmax.cu",
        Rule::WarpPerRow => ["softmax_warp_f32", "softmax_warp_f16", "softmax_warp_bf16"],
        Rule::BlockPerRow => [
            "softmax_block_f32", "softmax_block_f16", "softmax_block_bf16",
            "softmax_long_f32", "softmax_long_f16", "softmax_long_bf16",
        ],
    ),
    source!("layer_norm.cu",
        Rule::WarpPerRow => [
            "layer_norm_warp_f32", "layer_norm_warp_f16", "layer_norm_warp_bf16",
            "layer_norm_backward_warp_f32", "layer_norm_backward_warp_f16",
            "layer_norm_backward_warp_bf16",
        ],
        Rule::BlockPerRow => [
            "layer_norm_block_f32", "layer_norm_block_f16", "layer_norm_block_bf16",
            "layer_norm_long_f32", "layer_norm_long_f16", "layer_norm_long_bf16",
            "layer_norm_backward_block_f32", "layer_norm_backward_block_f16",
            "layer_norm_backward_block_bf16", "layer_norm_backward_long_f32",
            "layer_norm_backward_long_f16", "layer_norm_backward_long_bf16",
        ],
        Rule::Strips => [
            "layer_norm_backward_strips_f32", "layer_norm_backward_strips_f16",
            "layer_norm_backward_strips_bf16",
        ],
        FLAT_4 => [
            "layer_norm_backward_join_f32", "layer_norm_backward_join_f16",
            "layer_norm_backward_join_bf16",
        ],
    ),
    source!("dropout.cu",
        FLAT_4 => ["dropout_f32"],
        FLAT_2 => ["dropout_f16", "dropout_bf16"],
    ),
    source!("transpose.cu",
        Rule::Tiles { side: 32 } => ["transpose_4"],
        Rule::Tiles { side: 64 } => ["transpose_2"],
    ),
    source!("concat.cu", Rule::Lines => ["concat_4", "concat_2"]),
    source!("triangle.cu",
        Rule::Lines => [
            "triangle_gather_4", "triangle_scatter_4", "triangle_gather_2", "triangle_scatter_2",
        ],
    ),
    source!("cast.cu",
        FLAT_2 => [
            "cast_f32_f16", "cast_f32_bf16", "cast_f16_f32", "cast_f16_bf16", "cast_bf16_f32",
            "cast_bf16_f16",
        ],
    ),
    source!("embedding_forward.cu",
        Rule::Bags => [
            "embedding_forward_f32_i32", "embedding_forward_f32_i64", "embedding_forward_f16_i32",
            "embedding_forward_f16_i64",
        ],
    ),
    source!("embedding_backward.cu",
        Rule::Bags => ["embedding_keys_i32", "embedding_keys_i64"],
        Rule::Lookups => [
            "embedding_backward_short_sgd_f32", "embedding_backward_short_rowwise_adagrad_f32",
            "embedding_backward_short_sgd_f16", "embedding_backward_short_rowwise_adagrad_f16",
        ],
        Rule::Filling => [
            "embedding_backward_long_sgd_f32", "embedding_backward_long_rowwise_adagrad_f32",
            "embedding_backward_long_sgd_f16", "embedding_backward_long_rowwise_adagrad_f16",
        ],
    ),
    source!("sort.cu",
        Rule::SortTiles => ["sort_count", "sort_scatter"],
        Rule::SortDigits => ["sort_scan"],
    ),
    source!("timing.cu",
        Rule::Single => ["empty", "sample_clock", "hold_stream"],
        Rule::Flat { bytes: 1 } => ["flush_cache"],
    ),
];

/// The kernel `name` and its source.
pub fn entry(name: &str) -> Option<(&'static Source, &'static Entry)> {
    SOURCES.iter().find_map(|source| {
        source.entries.iter().find(|entry| entry.name == name).map(|entry| (source, entry))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        let names: BTreeSet<&str> =
            SOURCES.iter().flat_map(|source| source.entries).map(|entry| entry.name).collect();
        let count: usize = SOURCES.iter().map(|source| source.entries.len()).sum();
        assert_eq!(names.len(), count);
        for name in names {
            assert_eq!(entry(name).unwrap().1.name, name);
        }
        assert!(entry("sum").is_none());
    }

    #[test]
    fn every_source_in_the_folder_is_listed() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/kernels");
        let listed: BTreeSet<&str> = SOURCES.iter().map(|source| source.file).collect();
        let found: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .filter(|name| name.ends_with(".cu"))
            .collect();
        assert_eq!(listed, found.iter().map(String::as_str).collect());
    }
}
