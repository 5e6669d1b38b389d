//! What a row leaves out, with the defaults of the single questions.
//!
//! An element type that nobody names is the machine's to choose, and asking it takes longer than
//! a row: the choice for the last op asked is kept.

use kernelgauge_data::fields::Lookup;
use kernelgauge_data::{Collective, Dtype, Family};

use super::op_name::OpName;
use crate::predictor::Predictor;
use crate::question::{QuestionError, Subject, Vocabulary};

/// The element type chosen last.
#[derive(Debug, Default)]
pub struct Chosen(Option<(Asked, Dtype)>);

/// What an element type is chosen for: machine, family and the beginning of the variant.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    machine: String,
    family: Family,
    prefix: String,
}

impl Chosen {
    /// The element type of a row that names none; none where the rest of the row does not say
    /// of what.
    ///
    /// # Errors
    /// What the machine has, where it has several or none.
    pub fn dtype(
        &mut self,
        op: &OpName,
        get: Lookup<'_, '_>,
        predictor: &Predictor,
    ) -> Result<Option<Dtype>, QuestionError> {
        let Some((name, prefix)) = named(op, get) else { return Ok(None) };
        let machine = &predictor.machine().name;
        if let Some((asked, dtype)) = &self.0
            && (asked.family, &asked.prefix, &asked.machine) == (op.family, &prefix, machine)
        {
            return Ok(Some(*dtype));
        }
        let variants = predictor.model().variants(op.family);
        let links = predictor.machine().links;
        let subject = Subject { machine, links, variants: &variants, described: false };
        let dtype = match prefix.parse::<Collective>() {
            Ok(collective) if op.family == Family::Collective => {
                Vocabulary::of_collective(&subject, &name, collective)
                    .collective_dtype(collective, None)?
            }
            _ => Vocabulary::new(&subject, &name, &prefix).dtype(None)?,
        };
        let asked = Asked { machine: machine.clone(), family: op.family, prefix };
        self.0 = Some((asked, dtype));
        Ok(Some(dtype))
    }
}

/// The op as messages call it, and the beginning of its variants, before the element type.
fn named(op: &OpName, get: Lookup<'_, '_>) -> Option<(String, String)> {
    let field = |name: &str| match op.field {
        Some((known, value)) if known == name => Some(value),
        _ => get(name).filter(|text| !text.is_empty()),
    };
    Some(match op.family {
        Family::Gemm => ("gemm".to_owned(), String::new()),
        Family::Memory => (field("op")?.to_owned(), field("op")?.to_owned()),
        Family::Collective => {
            let name = field("collective")?.parse::<Collective>().ok()?.name();
            (name.replace('_', "-"), name.to_owned())
        }
        Family::Attention => {
            let phase = field("phase")?;
            (format!("{phase} attention"), phase.to_owned())
        }
        Family::Embedding => {
            let direction = field("direction").unwrap_or("forward");
            let prefix = match direction {
                "backward" => format!("backward/{}", field("optimizer").unwrap_or("sgd")),
                other => other.to_owned(),
            };
            (format!("embedding {direction}"), prefix)
        }
        Family::Copy | Family::Custom => return None,
    })
}

/// What the field `name` is in a row that leaves it out.
pub fn neutral<'a>(family: Family, name: &str, get: Lookup<'_, 'a>) -> Option<&'a str> {
    match (family, name) {
        (Family::Embedding, "direction") => Some("forward"),
        (Family::Attention, "head_dim") => Some("128"),
        (Family::Attention, "kv_heads") => get("heads"),
        (Family::Attention, "query_len") if get("phase") == Some("generation") => Some("1"),
        (Family::Attention, "query_len") => get("kv_len"),
        _ => None,
    }
}
