//! Ops that launch nothing, for execution traces alone: they tell no ops of the device from
//! those that only describe tensors.

/// Ops that allocate, or make another view, without `aten::`.
const NOTHING: [&str; 40] = [
    "alias",
    "as_strided",
    "chunk",
    "detach",
    "detach_",
    "empty",
    "empty_like",
    "empty_strided",
    "expand",
    "expand_as",
    "is_nonzero",
    "lift_fresh",
    "narrow",
    "new_empty",
    "new_empty_strided",
    "permute",
    "record_stream",
    "resize_",
    "resolve_conj",
    "resolve_neg",
    "result_type",
    "select",
    "set_",
    "slice",
    "split",
    "split_with_sizes",
    "squeeze",
    "squeeze_",
    "t",
    "to",
    "transpose",
    "transpose_",
    "unbind",
    "unflatten",
    "unfold",
    "unsqueeze",
    "unsqueeze_",
    "view",
    "view_as",
    "_unsafe_view",
];

/// Whether an op launches no work, whatever its inputs. Such as copy only if they must (`reshape`)
/// are innermost only where they did not; `to` likewise.
pub fn launches_nothing(name: &str) -> bool {
    match name.strip_prefix("aten::") {
        Some("_reshape_alias" | "reshape" | "flatten" | "contiguous") => true,
        Some(bare) => NOTHING.contains(&bare),
        // Autograd's own bookkeeping without an op of its own.
        None => matches!(name, "detach" | "detach_"),
    }
}
