//! `nccl_perf`: `nccl_dtype,num_gpus,message_size,op_name`, taken with nccl-tests.

use super::row::Row;
use crate::dtype::Dtype;
use crate::import::ImportOptions;
use crate::machine::Links;
use crate::point::{Collective, CollectivePoint, Point};

/// The point of a row; the error is the reason to drop it.
pub(super) fn point(row: &Row<'_>, options: &ImportOptions) -> Result<Point, String> {
    let dtype = row.text("nccl_dtype").unwrap_or_default();
    let dtype: Dtype = dtype.parse().map_err(|_| format!("unknown nccl_dtype `{dtype}`"))?;
    let name = row.text("op_name").unwrap_or_default();
    let collective: Collective = name.parse().map_err(|_| format!("unknown op_name `{name}`"))?;
    let elements = row.whole("message_size")?;
    let bytes = elements.checked_mul(dtype.size()).ok_or("`message_size` is too large")?;
    let nodes = options.nodes.unwrap_or(1);
    Ok(Point::Collective(CollectivePoint {
        collective,
        dtype,
        ranks: row.whole("num_gpus")?,
        nodes,
        links: if nodes > 1 { Links::Network } else { options.links },
        bytes,
        imbalance: 100,
    }))
}
