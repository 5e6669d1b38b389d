//! A point from what a model keeps of it: family, variant and parameters by name.

use crate::family::Family;
use crate::machine::Links;
use crate::point::{
    AttentionPoint, CollectivePoint, CopyPoint, CustomPoint, Direction, Distribution, EVEN,
    EmbeddingPoint, GemmLayout, GemmPoint, MemoryPoint, Optimizer, Point,
};

impl Point {
    /// The point of `family` and `variant` with these parameters; none where the words are none
    /// of ours, a parameter is missing, or they do not determine it (indices that are reused by
    /// a histogram). How devices are linked is not kept.
    pub fn rebuilt(family: Family, variant: &str, parameters: &[(String, u64)]) -> Option<Point> {
        let words: Vec<&str> = variant.split('/').collect();
        let value = |name: &str| {
            let found = parameters.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| *value)
        };
        let point = match (family, words.as_slice()) {
            (Family::Gemm, [dtype]) => product(dtype, GemmLayout::Unstated, &value)?,
            (Family::Gemm, [dtype, layout]) => product(dtype, layout.parse().ok()?, &value)?,
            (Family::Embedding, ["forward", dtype, kind]) => {
                bag(Direction::Forward, Optimizer::Sgd, [dtype, kind], &value)?
            }
            (Family::Embedding, ["backward", optimizer, dtype, kind]) => {
                bag(Direction::Backward, optimizer.parse().ok()?, [dtype, kind], &value)?
            }
            (Family::Memory, [op, dtype]) => Point::Memory(MemoryPoint {
                op: op.parse().ok()?,
                dtype: dtype.parse().ok()?,
                rows: value("rows")?,
                columns: value("columns")?,
            }),
            (Family::Copy, [direction, pinned]) => Point::Copy(CopyPoint {
                direction: direction.parse().ok()?,
                pinned: *pinned == "pinned",
                bytes: value("bytes")?,
            }),
            (Family::Collective, [collective, dtype, skew @ ..]) if skew.len() < 2 => {
                Point::Collective(CollectivePoint {
                    collective: collective.parse().ok()?,
                    dtype: dtype.parse().ok()?,
                    ranks: value("ranks")?,
                    nodes: value("nodes")?,
                    links: Links::Unstated,
                    bytes: value("bytes")?,
                    imbalance: skew.first().map_or(Some(EVEN), |text| text.parse().ok())?,
                })
            }
            (Family::Attention, [phase, dtype, kv_dtype]) => Point::Attention(AttentionPoint {
                phase: phase.parse().ok()?,
                dtype: dtype.parse().ok()?,
                kv_dtype: kv_dtype.parse().ok()?,
                batch: value("batch")?,
                heads: value("heads")?,
                kv_heads: value("kv_heads")?,
                head_dim: value("head_dim")?,
                query_len: value("query_len")?,
                kv_len: value("kv_len")?,
                window: value("window")?,
            }),
            (Family::Custom, _) => Point::Custom(CustomPoint {
                op: variant.to_owned(),
                parameters: parameters.to_vec(),
            }),
            _ => return None,
        };
        point.check().ok().map(|()| point)
    }
}

fn product(dtype: &str, layout: GemmLayout, value: &dyn Fn(&str) -> Option<u64>) -> Option<Point> {
    Some(Point::Gemm(GemmPoint {
        dtype: dtype.parse().ok()?,
        batch: value("batch")?,
        m: value("m")?,
        n: value("n")?,
        k: value("k")?,
        layout,
    }))
}

fn bag(
    direction: Direction,
    optimizer: Optimizer,
    [dtype, kind]: [&str; 2],
    value: &dyn Fn(&str) -> Option<u64>,
) -> Option<Point> {
    let distribution = match kind {
        "uniform" => Distribution::Uniform,
        "zipf" => {
            Distribution::Zipf { exponent_milli: u32::try_from(value("exponent_milli")?).ok()? }
        }
        _ => return None,
    };
    Some(Point::Embedding(EmbeddingPoint {
        direction,
        optimizer,
        dtype: dtype.parse().ok()?,
        tables: value("tables")?,
        rows: value("rows")?,
        dim: value("dim")?,
        batch: value("batch")?,
        pooling: value("pooling")?,
        distribution,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::read_point;

    fn check(family: Family, fields: &[(&str, &str)]) {
        let get = |name: &str| fields.iter().find(|(known, _)| *known == name).map(|(_, v)| *v);
        let point = read_point(family, &get).unwrap();
        let names = point.parameter_names().into_iter().map(str::to_owned);
        let parameters: Vec<(String, u64)> =
            names.zip(point.parameters().iter().copied()).collect();
        let rebuilt = Point::rebuilt(family, point.variant().as_str(), &parameters);
        assert_eq!(rebuilt.as_ref(), Some(&point));
        assert_eq!(Point::rebuilt(family, "no/such/variant/at/all", &[]).is_some(), {
            family == Family::Custom
        });
    }

    #[test]
    fn what_a_model_keeps_of_a_point_makes_it_again() {
        let product = [("dtype", "bf16"), ("m", "1"), ("n", "2"), ("k", "3")];
        check(Family::Gemm, &product);
        check(Family::Gemm, &[&product[..], &[("layout", "nt")]].concat());
        let bag = [("tables", "1"), ("rows", "9"), ("dim", "8"), ("batch", "4"), ("pooling", "2")];
        for more in [
            vec![("direction", "forward"), ("distribution", "uniform")],
            vec![("direction", "forward"), ("distribution", "zipf:1.05")],
            vec![("direction", "backward"), ("optimizer", "rowwise_adagrad")],
        ] {
            let fields: Vec<(&str, &str)> =
                bag.into_iter().chain([("dtype", "f32")]).chain(more).collect();
            check(Family::Embedding, &fields);
        }
        let matrix = [("op", "softmax"), ("dtype", "f32"), ("rows", "4"), ("columns", "8")];
        check(Family::Memory, &matrix);
        check(Family::Copy, &[("direction", "h2d"), ("pinned", "true"), ("bytes", "64")]);
        let fields = [("collective", "all_reduce"), ("dtype", "f16"), ("ranks", "8")];
        let sized: Vec<(&str, &str)> = fields.into_iter().chain([("bytes", "64")]).collect();
        check(Family::Collective, &sized);
        let fields = [("collective", "all_to_all_v"), ("dtype", "f16"), ("ranks", "8")];
        let skewed = fields.into_iter().chain([("bytes", "64"), ("imbalance", "150")]);
        check(Family::Collective, &skewed.collect::<Vec<_>>());
        let fields = [("phase", "generation"), ("dtype", "bf16"), ("batch", "1"), ("heads", "8")];
        let more = [("kv_heads", "8"), ("head_dim", "64"), ("query_len", "1"), ("kv_len", "99")];
        let all: Vec<(&str, &str)> = fields.into_iter().chain(more).collect();
        check(Family::Attention, &all);
        check(Family::Custom, &[("op", "mine/f32"), ("parameters", "a=1;b=2")]);
    }
}
