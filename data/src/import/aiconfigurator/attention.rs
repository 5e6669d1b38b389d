//! `context_attention_perf` and `generation_attention_perf`.
//!
//! `step` counts the keys already cached: a prompt of `isl` tokens sees `isl + step` keys, and
//! so does the one query of a generation step.

use std::path::Path;

use super::row::Row;
use crate::dtype::Dtype;
use crate::import::ImportOptions;
use crate::point::{AttentionPhase, AttentionPoint, Point};

/// The point of a row; the error is the reason to drop it.
pub(super) fn point(row: &Row<'_>, path: &Path, options: &ImportOptions) -> Result<Point, String> {
    if row.whole_or("beam_width", 1)? != 1 {
        return Err("`beam_width` is not 1".to_owned());
    }
    let phase = phase(row, path, options)?;
    let dtype = match row.text("attn_dtype") {
        Some(text) => text.parse().map_err(|_| format!("unknown attn_dtype `{text}`"))?,
        None => options.dtype.ok_or("no `attn_dtype` (`--dtype` states it)")?,
    };
    let kv_dtype: Dtype = match row.text("kv_cache_dtype") {
        Some(text) => text.parse().map_err(|_| format!("unknown kv_cache_dtype `{text}`"))?,
        None => dtype,
    };
    let isl = row.whole("isl")?;
    let kv_len = isl.checked_add(row.whole_or("step", 0)?).ok_or("`isl` + `step` is too large")?;
    Ok(Point::Attention(AttentionPoint {
        phase,
        dtype,
        kv_dtype,
        batch: row.whole("batch_size")?,
        heads: row.whole("num_heads")?,
        kv_heads: row.whole("num_key_value_heads")?,
        head_dim: row.whole("head_dim")?,
        query_len: if phase == AttentionPhase::Context { isl } else { 1 },
        kv_len,
        window: row.whole_or("window_size", 0)?,
    }))
}

/// The phase the op is named after; older files leave it to the file name.
fn phase(row: &Row<'_>, path: &Path, options: &ImportOptions) -> Result<AttentionPhase, String> {
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    let names = [row.text("op_name"), options.op.as_deref(), stem];
    let phases = [AttentionPhase::Context, AttentionPhase::Generation];
    names
        .into_iter()
        .flatten()
        .find_map(|name| phases.into_iter().find(|phase| name.contains(phase.name())))
        .ok_or_else(|| "phase is not stated (`--op context` or `--op generation`)".to_owned())
}
