//! A point with other parameters: the measured neighbours of a query, and its nearest point
//! within the domain.

use kernelgauge_data::point::{Distribution, Parameters};
use kernelgauge_data::{MemoryPoint, Point};

/// `point` with its integer parameters replaced, in the order of [`Point::parameters`].
///
/// What parameters do not determine stays: dtype, op, and the histogram of a reuse
/// distribution, whose distinct rows follow from the rest.
pub(crate) fn with_parameters(point: &Point, parameters: &Parameters) -> Point {
    let mut changed = point.clone();
    match (&mut changed, &parameters[..]) {
        (Point::Gemm(gemm), &[batch, m, n, k]) => {
            (gemm.batch, gemm.m, gemm.n, gemm.k) = (batch, m, n, k);
        }
        (Point::Embedding(bag), &[tables, rows, dim, batch, pooling, last]) => {
            (bag.tables, bag.rows, bag.dim) = (tables, rows, dim);
            (bag.batch, bag.pooling) = (batch, pooling);
            if let Distribution::Zipf { exponent_milli } = &mut bag.distribution {
                *exponent_milli = u32::try_from(last).unwrap_or(u32::MAX);
            }
        }
        (Point::Memory(memory), &[rows, columns]) => {
            *memory = MemoryPoint { rows, columns, ..*memory };
        }
        (Point::Copy(copy), &[bytes]) => copy.bytes = bytes,
        (Point::Collective(collective), &[ranks, nodes, bytes]) => {
            (collective.ranks, collective.nodes, collective.bytes) = (ranks, nodes, bytes);
        }
        (
            Point::Attention(attention),
            &[batch, heads, kv_heads, head_dim, query_len, kv_len, window],
        ) => {
            (attention.batch, attention.heads, attention.kv_heads) = (batch, heads, kv_heads);
            (attention.head_dim, attention.window) = (head_dim, window);
            (attention.query_len, attention.kv_len) = (query_len, kv_len);
        }
        (Point::Custom(custom), values) => {
            for ((_, slot), value) in custom.parameters.iter_mut().zip(values) {
                *slot = *value;
            }
        }
        _ => {}
    }
    changed
}

/// `parameters` with the one at `index` replaced.
pub(crate) fn replaced(parameters: &Parameters, index: usize, value: u64) -> Parameters {
    let mut values = [0; kernelgauge_data::point::MAX_PARAMETERS];
    values[..parameters.len()].copy_from_slice(parameters);
    values[index] = value;
    Parameters::new(&values[..parameters.len()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernelgauge_data::{Dtype, GemmLayout, GemmPoint};

    #[test]
    fn one_parameter_changes_and_the_rest_stays() {
        let point = Point::Gemm(GemmPoint {
            dtype: Dtype::Bf16,
            batch: 1,
            m: 8,
            n: 16,
            k: 32,
            layout: GemmLayout::Unstated,
        });
        let wider = with_parameters(&point, &replaced(&point.parameters(), 1, 64));
        assert_eq!(wider.to_string(), "gemm bf16 batch=1 m=64 n=16 k=32");
    }
}
