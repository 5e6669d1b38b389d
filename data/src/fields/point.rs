//! The fields of a point, family by family.

use std::borrow::Cow;
use std::str::FromStr;

use crate::dtype::Dtype;
use crate::family::Family;
use crate::fields::Lookup;
use crate::fields::error::FieldError;
use crate::machine::Links;
use crate::nearest::UnknownName;
use crate::point::{
    AttentionPoint, CollectivePoint, CopyPoint, CustomPoint, Distribution, EVEN, EmbeddingPoint,
    GemmLayout, GemmPoint, MemoryOp, MemoryPoint, Optimizer, Point,
};

const GEMM: [&str; 6] = ["dtype", "batch", "m", "n", "k", "layout"];
const EMBEDDING: [&str; 9] = [
    "direction",
    "dtype",
    "tables",
    "rows",
    "dim",
    "batch",
    "pooling",
    "distribution",
    "optimizer",
];
const MEMORY: [&str; 6] = ["op", "dtype", "elements", "bytes_read", "bytes_written", "rows"];
const COPY: [&str; 3] = ["direction", "pinned", "bytes"];
const COLLECTIVE: [&str; 7] =
    ["collective", "dtype", "ranks", "nodes", "links", "bytes", "imbalance"];
const ATTENTION: [&str; 10] = [
    "phase",
    "dtype",
    "batch",
    "heads",
    "kv_heads",
    "head_dim",
    "query_len",
    "kv_len",
    "kv_dtype",
    "window",
];
const CUSTOM: [&str; 2] = ["op", "parameters"];

/// Every field a point of `family` can have: the base columns in file order, then the optional
/// ones. A custom point keeps all its parameters in one field, `batch=64;seq=128`; data-set
/// files spread them over columns of their own.
pub const fn columns(family: Family) -> &'static [&'static str] {
    match family {
        Family::Gemm => &GEMM,
        Family::Embedding => &EMBEDDING,
        Family::Memory => &MEMORY,
        Family::Copy => &COPY,
        Family::Collective => &COLLECTIVE,
        Family::Attention => &ATTENTION,
        Family::Custom => &CUSTOM,
    }
}

/// The leading fields of [`columns`] that every file has, before its `time_us`.
pub fn base_columns(family: Family) -> &'static [&'static str] {
    let optional = match family {
        Family::Copy | Family::Custom => 0,
        Family::Gemm | Family::Embedding | Family::Memory | Family::Collective => 1,
        Family::Attention => 2,
    };
    let all = columns(family);
    &all[..all.len() - optional]
}

/// Reads and checks a point of `family`. Allocates nothing unless it fails (custom points
/// excepted). Absent fields take their neutral value: `batch` (of a GEMM), `rows` (of a memory
/// op) and `nodes` 1, `pinned` false, `layout` and `links` unstated, `imbalance` 100, `optimizer` sgd, `distribution`
/// uniform, `kv_dtype` the `dtype`, `window` 0. A memory op may give `columns` in place of
/// `elements`; its byte counts follow from its shape and are compared where stated.
///
/// # Errors
/// Names the field and what is wrong with it.
pub fn read_point(family: Family, get: Lookup<'_, '_>) -> Result<Point, FieldError> {
    let fields = Fields { get };
    let point = match family {
        Family::Gemm => fields.gemm()?,
        Family::Embedding => fields.embedding()?,
        Family::Memory => return fields.memory(),
        Family::Copy => fields.copy()?,
        Family::Collective => fields.collective()?,
        Family::Attention => fields.attention()?,
        Family::Custom => fields.custom()?,
    };
    point.check()?;
    Ok(point)
}

/// The fields of a point, in the order of [`columns`], optional ones included.
pub fn write_point(point: &Point) -> Vec<(Cow<'static, str>, String)> {
    let values = match point {
        Point::Gemm(p) => vec![
            p.dtype.to_string(),
            text(p.batch),
            text(p.m),
            text(p.n),
            text(p.k),
            p.layout.to_string(),
        ],
        Point::Embedding(p) => vec![
            p.direction.name().to_owned(),
            p.dtype.to_string(),
            text(p.tables),
            text(p.rows),
            text(p.dim),
            text(p.batch),
            text(p.pooling),
            p.distribution.to_string(),
            p.optimizer.name().to_owned(),
        ],
        Point::Memory(p) => vec![
            p.op.to_string(),
            p.dtype.to_string(),
            text(p.elements()),
            text(p.bytes_read()),
            text(p.bytes_written()),
            text(p.rows),
        ],
        Point::Copy(p) => vec![p.direction.to_string(), p.pinned.to_string(), text(p.bytes)],
        Point::Collective(p) => vec![
            p.collective.to_string(),
            p.dtype.to_string(),
            text(p.ranks),
            text(p.nodes),
            p.links.to_string(),
            text(p.bytes),
            text(p.imbalance),
        ],
        Point::Attention(p) => vec![
            p.phase.name().to_owned(),
            p.dtype.to_string(),
            text(p.batch),
            text(p.heads),
            text(p.kv_heads),
            text(p.head_dim),
            text(p.query_len),
            text(p.kv_len),
            p.kv_dtype.to_string(),
            text(p.window),
        ],
        Point::Custom(p) => vec![p.op.clone(), parameters_text(&p.parameters)],
    };
    columns(point.family()).iter().map(|name| Cow::Borrowed(*name)).zip(values).collect()
}

fn text(value: u64) -> String {
    value.to_string()
}

fn parameters_text(parameters: &[(String, u64)]) -> String {
    let pairs: Vec<String> =
        parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
    pairs.join(";")
}

/// Typed access to the fields behind a lookup.
struct Fields<'f, 'a> {
    get: Lookup<'f, 'a>,
}

impl<'a> Fields<'_, 'a> {
    fn find(&self, column: &'static str) -> Option<&'a str> {
        (self.get)(column).filter(|value| !value.is_empty())
    }

    fn text(&self, column: &'static str) -> Result<&'a str, FieldError> {
        self.find(column).ok_or(FieldError::Missing(Cow::Borrowed(column)))
    }

    fn integer(&self, column: &'static str) -> Result<u64, FieldError> {
        integer(column, self.text(column)?)
    }

    fn integer_or(&self, column: &'static str, neutral: u64) -> Result<u64, FieldError> {
        self.find(column).map_or(Ok(neutral), |value| integer(column, value))
    }

    fn word<T: FromStr<Err = UnknownName>>(&self, column: &'static str) -> Result<T, FieldError> {
        word(column, self.text(column)?)
    }

    fn word_or<T: FromStr<Err = UnknownName>>(
        &self,
        column: &'static str,
        neutral: T,
    ) -> Result<T, FieldError> {
        self.find(column).map_or(Ok(neutral), |value| word(column, value))
    }

    fn gemm(&self) -> Result<Point, FieldError> {
        Ok(Point::Gemm(GemmPoint {
            dtype: self.word("dtype")?,
            batch: self.integer_or("batch", 1)?,
            m: self.integer("m")?,
            n: self.integer("n")?,
            k: self.integer("k")?,
            layout: self.word_or("layout", GemmLayout::Unstated)?,
        }))
    }

    fn embedding(&self) -> Result<Point, FieldError> {
        Ok(Point::Embedding(EmbeddingPoint {
            direction: self.word("direction")?,
            optimizer: self.word_or("optimizer", Optimizer::Sgd)?,
            dtype: self.word("dtype")?,
            tables: self.integer("tables")?,
            rows: self.integer("rows")?,
            dim: self.integer("dim")?,
            batch: self.integer("batch")?,
            pooling: self.integer("pooling")?,
            distribution: self.word_or("distribution", Distribution::Uniform)?,
        }))
    }

    /// Checks the point before its byte counts, which could overflow otherwise.
    fn memory(&self) -> Result<Point, FieldError> {
        let op = self.word("op")?;
        let memory = MemoryPoint {
            op,
            dtype: self.word("dtype")?,
            rows: self.integer_or("rows", 1)?,
            columns: self.memory_columns(op)?,
        };
        let point = Point::Memory(memory);
        point.check()?;
        for (column, follows) in
            [("bytes_read", memory.bytes_read()), ("bytes_written", memory.bytes_written())]
        {
            let stated = self.integer_or(column, follows)?;
            if stated != follows {
                return Err(FieldError::Inconsistent(format!(
                    "{column} is {stated}, but {point} has {follows}"
                )));
            }
        }
        Ok(point)
    }

    fn memory_columns(&self, op: MemoryOp) -> Result<u64, FieldError> {
        if self.find("elements").is_none() && self.find("columns").is_some() {
            return self.integer("columns");
        }
        let (elements, rows) = (self.integer("elements")?, self.integer_or("rows", 1)?);
        match elements.checked_rem(rows) {
            Some(0) => op.columns_of(elements / rows).ok_or_else(|| {
                FieldError::Inconsistent(format!("{} elements are no square", elements / rows))
            }),
            _ => Err(FieldError::Inconsistent(format!(
                "{elements} elements do not divide into {rows} rows"
            ))),
        }
    }

    fn copy(&self) -> Result<Point, FieldError> {
        Ok(Point::Copy(CopyPoint {
            direction: self.word("direction")?,
            pinned: self.find("pinned").map_or(Ok(false), |value| boolean("pinned", value))?,
            bytes: self.integer("bytes")?,
        }))
    }

    fn collective(&self) -> Result<Point, FieldError> {
        Ok(Point::Collective(CollectivePoint {
            collective: self.word("collective")?,
            dtype: self.word("dtype")?,
            ranks: self.integer("ranks")?,
            nodes: self.integer_or("nodes", 1)?,
            links: self.word_or("links", Links::Unstated)?,
            bytes: self.integer("bytes")?,
            imbalance: self.integer_or("imbalance", EVEN)?,
        }))
    }

    fn attention(&self) -> Result<Point, FieldError> {
        let dtype: Dtype = self.word("dtype")?;
        Ok(Point::Attention(AttentionPoint {
            phase: self.word("phase")?,
            dtype,
            kv_dtype: self.word_or("kv_dtype", dtype)?,
            batch: self.integer("batch")?,
            heads: self.integer("heads")?,
            kv_heads: self.integer("kv_heads")?,
            head_dim: self.integer("head_dim")?,
            query_len: self.integer("query_len")?,
            kv_len: self.integer("kv_len")?,
            window: self.integer_or("window", 0)?,
        }))
    }

    fn custom(&self) -> Result<Point, FieldError> {
        let mut parameters = Vec::new();
        for pair in self.find("parameters").unwrap_or_default().split(';') {
            let Some((name, value)) = pair.split_once('=') else {
                return Err(FieldError::Inconsistent(format!(
                    "parameters hold `{pair}`; each must look like `batch=64`"
                )));
            };
            let value = value.parse().map_err(|_| FieldError::NotAnInteger {
                column: Cow::Owned(name.to_owned()),
                value: value.to_owned(),
            })?;
            parameters.push((name.to_owned(), value));
        }
        Ok(Point::Custom(CustomPoint { op: self.text("op")?.to_owned(), parameters }))
    }
}

/// A whole number.
///
/// # Errors
/// [`FieldError::NotAnInteger`].
pub(super) fn integer(column: &'static str, value: &str) -> Result<u64, FieldError> {
    value.parse().map_err(|_| FieldError::NotAnInteger {
        column: Cow::Borrowed(column),
        value: value.to_owned(),
    })
}

pub(super) fn boolean(column: &'static str, value: &str) -> Result<bool, FieldError> {
    match value {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err(FieldError::NotABool { column: Cow::Borrowed(column), value: value.to_owned() }),
    }
}

fn word<T: FromStr<Err = UnknownName>>(column: &'static str, value: &str) -> Result<T, FieldError> {
    value.parse().map_err(|name| FieldError::Unknown { column: Cow::Borrowed(column), name })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point::{AttentionPhase, Collective, CopyDirection, Direction, REUSE_BINS};

    fn read(family: Family, fields: &[(&str, &str)]) -> Result<Point, FieldError> {
        read_point(family, &|name| {
            fields.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
        })
    }

    fn one_of_each() -> Vec<Point> {
        let mut bins = [0; REUSE_BINS];
        bins[2] = 1_000_000;
        vec![
            Point::Gemm(GemmPoint {
                dtype: Dtype::Bf16,
                batch: 2,
                m: 3,
                n: 5,
                k: 7,
                layout: GemmLayout::Tn,
            }),
            Point::Embedding(EmbeddingPoint {
                direction: Direction::Backward,
                optimizer: Optimizer::RowWiseAdagrad,
                dtype: Dtype::F32,
                tables: 8,
                rows: 1000,
                dim: 64,
                batch: 32,
                pooling: 4,
                distribution: Distribution::Reuse(bins),
            }),
            Point::Memory(MemoryPoint {
                op: MemoryOp::LayerNorm,
                dtype: Dtype::F64,
                rows: 12,
                columns: 34,
            }),
            Point::Memory(MemoryPoint {
                op: MemoryOp::Triangle,
                dtype: Dtype::F16,
                rows: 12,
                columns: 27,
            }),
            Point::Copy(CopyPoint {
                direction: CopyDirection::HostToDevice,
                pinned: true,
                bytes: 4096,
            }),
            Point::Collective(CollectivePoint {
                collective: Collective::AllReduce,
                dtype: Dtype::F16,
                ranks: 16,
                nodes: 2,
                links: Links::Nvswitch,
                bytes: 1 << 26,
                imbalance: 100,
            }),
            Point::Attention(AttentionPoint {
                phase: AttentionPhase::Generation,
                dtype: Dtype::Bf16,
                kv_dtype: Dtype::Fp8,
                batch: 4,
                heads: 32,
                kv_heads: 8,
                head_dim: 128,
                query_len: 1,
                kv_len: 4096,
                window: 1024,
            }),
            Point::Custom(CustomPoint {
                op: "my_kernel/f32".to_owned(),
                parameters: vec![("batch".to_owned(), 64), ("seq".to_owned(), 128)],
            }),
        ]
    }

    #[test]
    fn every_family_reads_back_as_written() {
        for point in one_of_each() {
            let written = write_point(&point);
            assert_eq!(written.len(), columns(point.family()).len());
            let fields: Vec<(&str, &str)> =
                written.iter().map(|(name, value)| (name.as_ref(), value.as_str())).collect();
            assert_eq!(read(point.family(), &fields).as_ref(), Ok(&point));
        }
    }

    #[test]
    fn absent_fields_take_their_neutral_value() {
        let fields = [("dtype", "bf16"), ("m", "8"), ("n", "16"), ("k", "32"), ("batch", "")];
        let gemm = GemmPoint {
            dtype: Dtype::Bf16,
            batch: 1,
            m: 8,
            n: 16,
            k: 32,
            layout: GemmLayout::Unstated,
        };
        assert_eq!(read(Family::Gemm, &fields), Ok(Point::Gemm(gemm)));
        let fields = [("op", "add"), ("dtype", "f32"), ("columns", "10")];
        let point = read(Family::Memory, &fields).unwrap();
        assert_eq!(point.parameters()[..], [1, 10]);
    }

    #[test]
    fn elements_of_triangles_are_those_of_squares() {
        let read = |elements| {
            let fields = [("op", "triangle"), ("dtype", "f32"), ("elements", elements)];
            read(Family::Memory, &fields)
        };
        assert_eq!(read("729").unwrap().parameters()[..], [1, 27]);
        assert!(read("730").unwrap_err().to_string().contains("730 elements are no square"));
    }

    #[test]
    fn a_bad_field_is_named() {
        let gemm = |m: &str| {
            let fields = [("dtype", "bf16"), ("m", m), ("n", "16"), ("k", "32")];
            read(Family::Gemm, &fields).unwrap_err().to_string()
        };
        assert_eq!(gemm(""), "`m` is missing");
        assert_eq!(gemm("1.5"), "m is `1.5`, not a whole number");
        assert_eq!(gemm("-1"), "m is `-1`, not a whole number");
        assert_eq!(gemm("0"), "`m` is 0; it must be at least 1");
        assert_eq!(gemm("99999999999999999999"), "m is `99999999999999999999`, not a whole number");
        let memory = [("op", "add"), ("dtype", "f32"), ("elements", "10"), ("bytes_read", "40")];
        let error = read(Family::Memory, &memory).unwrap_err().to_string();
        assert_eq!(error, "bytes_read is 40, but memory add/f32 rows=1 columns=10 has 80");
        for parameters in ["", "batch", "batch=x", "a=1;;b=2"] {
            assert!(read(Family::Custom, &[("op", "x"), ("parameters", parameters)]).is_err());
        }
    }
}
