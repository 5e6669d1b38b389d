//! `gemm_perf`: `gemm_dtype,m,n,k`.

use super::row::Row;
use crate::point::{GemmLayout, GemmPoint, Point};

/// The point of a row; the error is the reason to drop it.
pub(super) fn point(row: &Row<'_>) -> Result<Point, String> {
    let dtype = row.text("gemm_dtype").unwrap_or_default();
    // Weight-only quantisation and 4-bit formats have no element type here.
    let dtype = dtype.parse().map_err(|_| format!("unknown gemm_dtype `{dtype}`"))?;
    Ok(Point::Gemm(GemmPoint {
        dtype,
        batch: 1,
        m: row.whole("m")?,
        n: row.whole("n")?,
        k: row.whole("k")?,
        layout: GemmLayout::Unstated,
    }))
}
