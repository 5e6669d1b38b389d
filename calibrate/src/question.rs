//! A question that a new model can answer, as a command: what a person may try first.

use std::collections::BTreeMap;

use kernelgauge_data::point::VariantName;
use kernelgauge_data::{
    DataSet, Direction, Distribution, EVEN, Family, GemmLayout, Manner, Optimizer, Point,
};
use kernelgauge_model::Model;

/// The middle point of the variant with most points, of the first family of `model` that has one
/// worth asking for; a command without its machine.
pub fn first(data: &DataSet, model: &Model) -> Option<String> {
    model.families().into_iter().find_map(|family| command(middle(data, model, family)?))
}

/// The point whose traffic is in the middle of the variant with most points.
fn middle<'d>(data: &'d DataSet, model: &Model, family: Family) -> Option<&'d Point> {
    let mut variants: BTreeMap<VariantName, Vec<&Point>> = BTreeMap::new();
    for record in &data.records {
        let point = &record.point;
        let asked = point.family() == family && record.fit_time().is_some();
        if asked && Manner::of(&record.conditions) == Manner::Usual {
            variants.entry(point.variant()).or_default().push(point);
        }
    }
    variants.retain(|name, _| model.has_variant(family, name.as_str()));
    let (_, mut points) = variants.into_iter().max_by_key(|(_, points)| points.len())?;
    points.sort_by(|a, b| a.work().bytes().total_cmp(&b.work().bytes()));
    points.get(points.len() / 2).copied()
}

/// The command that asks for `point`; none for an attention or a histogram, whose command no one
/// would type.
fn command(point: &Point) -> Option<String> {
    Some(match point {
        Point::Gemm(gemm) => {
            let mut text = format!("predict gemm -m {} -n {} -k {}", gemm.m, gemm.n, gemm.k);
            if gemm.batch > 1 {
                text.push_str(&format!(" --batch {}", gemm.batch));
            }
            text.push_str(&format!(" --dtype {}", gemm.dtype));
            // The usual one answers where none is asked for.
            if !matches!(gemm.layout, GemmLayout::Unstated | GemmLayout::Nt) {
                text.push_str(&format!(" --layout {}", gemm.layout));
            }
            text
        }
        Point::Embedding(bag) => {
            if let Distribution::Reuse(_) = bag.distribution {
                return None;
            }
            let mut text = format!(
                "predict embedding --tables {} --rows {} --dim {} --batch {} --pooling {} --dtype {} \
                 --distribution {}",
                bag.tables, bag.rows, bag.dim, bag.batch, bag.pooling, bag.dtype, bag.distribution
            );
            if bag.direction == Direction::Backward {
                text.push_str(" --direction backward");
                if bag.optimizer != Optimizer::Sgd {
                    text.push_str(&format!(" --optimizer {}", bag.optimizer.name()));
                }
            }
            text
        }
        Point::Memory(memory) => format!(
            "predict memory {} --rows {} --columns {} --dtype {}",
            memory.op, memory.rows, memory.columns, memory.dtype
        ),
        Point::Copy(copy) => {
            let pinned = if copy.pinned { " --pinned" } else { "" };
            format!("predict copy --direction {}{pinned} --bytes {}", copy.direction, copy.bytes)
        }
        Point::Collective(collective) => {
            let mut text = format!(
                "predict {} --bytes {} --ranks {} --dtype {}",
                collective.collective.name().replace('_', "-"),
                collective.bytes,
                collective.ranks,
                collective.dtype
            );
            if collective.nodes > 1 {
                text.push_str(&format!(" --nodes {}", collective.nodes));
            }
            if collective.imbalance != EVEN {
                text.push_str(&format!(" --imbalance {}", collective.imbalance));
            }
            text
        }
        Point::Custom(custom) => {
            let set =
                custom.parameters.iter().map(|(name, value)| format!(" --set {name}={value}"));
            format!("predict custom {}{}", custom.op, set.collect::<String>())
        }
        Point::Attention(_) => return None,
    })
}
