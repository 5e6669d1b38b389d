//! Attention in one op.

use kernelgauge_data::{AttentionPhase, AttentionPoint, Point};

use super::Uncovered;
use super::inputs::Inputs;

/// Ops over `[batch, heads, length, head elements]`, with the position of `is_causal`.
const OPS: [(&str, usize); 4] = [
    ("aten::_scaled_dot_product_flash_attention", 4),
    ("aten::_scaled_dot_product_efficient_attention", 6),
    ("aten::_scaled_dot_product_cudnn_attention", 6),
    ("aten::_scaled_dot_product_fused_attention_overrideable", 5),
];

/// Whether an op is attention.
pub fn is_one(name: &str) -> bool {
    OPS.iter().any(|(known, _)| *known == name)
}

/// Whether an op is how one of these is implemented: its work is theirs.
pub fn implements(name: &str) -> bool {
    matches!(
        name,
        "aten::_flash_attention_forward"
            | "aten::_efficient_attention_forward"
            | "aten::_cudnn_attention_forward"
    )
}

/// The attention an op computes; none for other ops. Backward passes are of no family.
pub fn point(name: &str, inputs: &Inputs) -> Option<Result<Point, Uncovered>> {
    let &(_, causal) = OPS.iter().find(|(known, _)| *known == name)?;
    Some(forward(inputs, causal))
}

fn forward(inputs: &Inputs, causal: usize) -> Result<Point, Uncovered> {
    let (query, key) = (inputs.tensor(0)?, inputs.tensor(1)?);
    let ([batch, heads, query_len, head_dim], [_, kv_heads, kv_len, _]) =
        (&query.sizes[..], &key.sizes[..])
    else {
        return Err(Uncovered::Differs("queries and keys have other than four axes"));
    };
    let phase = match query_len {
        1 => AttentionPhase::Generation,
        _ if inputs.truth(causal) == Some(false) => {
            return Err(Uncovered::Differs("not causal: the family measures causal attention"));
        }
        _ => AttentionPhase::Context,
    };
    Ok(Point::Attention(AttentionPoint {
        phase,
        dtype: query.dtype()?,
        kv_dtype: key.dtype()?,
        batch: *batch,
        heads: *heads,
        kv_heads: *kv_heads,
        head_dim: *head_dim,
        query_len: *query_len,
        kv_len: *kv_len,
        window: 0,
    }))
}
