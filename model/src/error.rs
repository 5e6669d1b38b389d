//! Why a question gets no answer.

use kernelgauge_data::nearest::UnknownName;
use kernelgauge_data::point::PointError;
use kernelgauge_data::{CacheState, Diagnostic, Family};
use thiserror::Error;

use crate::domain::{Beyond, Never, shown_value};
use crate::model::remedy;
use crate::prediction::ReferenceModel;
use crate::store::StoreError;

/// Why a question gets no answer.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum PredictError {
    /// The point cannot be one.
    #[error(transparent)]
    Point(#[from] PointError),
    /// The machine has no measurements of the family.
    #[error("{machine} has no {family} measurements")]
    UnknownFamily {
        /// The machine.
        machine: String,
        /// The family asked for.
        family: Family,
        /// Families it has.
        have: Vec<Family>,
    },
    /// The machine has no measurements of the variant: the op, dtype or direction.
    #[error("{machine} has no {family} measurements of `{}`", unknown.name)]
    UnknownVariant {
        /// The machine.
        machine: String,
        /// The family asked for.
        family: Family,
        /// The variant asked for, and those it has.
        unknown: UnknownName,
    },
    /// The machine has the variant, but not measured in this cache state.
    #[error("{machine} has {family} {variant} only measured with {} operands", have.name())]
    UnknownCacheState {
        /// The machine.
        machine: String,
        /// The family asked for.
        family: Family,
        /// The variant asked for.
        variant: String,
        /// The state it was measured in.
        have: CacheState,
    },
    /// The machine has measurements of the variant, but too few for a model.
    #[error("insufficient data for {family} {variant} on {machine}: {reason}")]
    Insufficient {
        /// The machine.
        machine: String,
        /// The family asked for.
        family: Family,
        /// The variant asked for.
        variant: String,
        /// What is lacking.
        reason: String,
    },
    /// A custom op was measured over other parameters.
    #[error(
        "{op} was measured over {}, and the question gives {}",
        measured.join(", "),
        if given.is_empty() { "none".to_owned() } else { given.join(", ") }
    )]
    Parameters {
        /// The op.
        op: String,
        /// Names in the question.
        given: Vec<String>,
        /// Names in the data set.
        measured: Vec<String>,
    },
    /// The point lies outside what was measured.
    #[error("{}", outside_text(self))]
    Outside {
        /// The machine.
        machine: String,
        /// The family asked for.
        family: Family,
        /// The variant asked for.
        variant: String,
        /// The parameter furthest out.
        parameter: String,
        /// Its value.
        value: u64,
        /// How it is outside.
        beyond: Beyond,
        /// Why there is no answer at all, if extrapolating gets none either.
        never: Option<Box<Never>>,
    },
    /// The reference model does not speak for the op or the machine.
    #[error("the {} reference model has no answer: {reason}", reference.name())]
    NoReference {
        /// The reference model.
        reference: ReferenceModel,
        /// What it lacks.
        reason: String,
    },
    /// The machine's published figures do not give a time.
    #[error("{machine} cannot be predicted from published figures: {reason}")]
    NotDescribed {
        /// The machine.
        machine: String,
        /// What is lacking.
        reason: String,
    },
    /// The part of the model file that would answer is damaged.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// `64 GiB is 128 times the largest all-reduce h200-sxm was measured at (512 MiB)`
fn outside_text(error: &PredictError) -> String {
    let PredictError::Outside { machine, family, variant, parameter, value, beyond, .. } = error
    else {
        return String::new();
    };
    let op = match family {
        // By its own name, as the data set has it.
        Family::Custom => variant.clone(),
        _ => variant.split('/').next().unwrap_or(variant).replace('_', "-"),
    };
    let size = parameter == "bytes" && matches!(family, Family::Collective | Family::Copy);
    let of = match family {
        Family::Collective | Family::Memory | Family::Custom => op,
        Family::Copy => format!("{op} copy"),
        _ => format!("{family} {variant}"),
    };
    let shown = |value: u64| shown_value(*family, parameter, value);
    let given = if size { shown(*value) } else { format!("{parameter} = {value}") };
    let measure = if size { of.clone() } else { format!("{parameter} of {of}") };
    match beyond {
        Beyond::Above { largest } => format!(
            "{given} is {} times the largest {measure} {machine} was measured at ({})",
            times(*value, *largest),
            shown(*largest)
        ),
        Beyond::Below { smallest } => format!(
            "{given} is below the smallest {measure} {machine} was measured at ({})",
            shown(*smallest)
        ),
        Beyond::Fixed { only } => format!(
            "{given}: {machine} was measured only at {parameter} = {} for {of}",
            shown(*only)
        ),
        Beyond::Unequal { other } => format!(
            "{given} differs from {other}: {machine} was measured only with both equal for {of}"
        ),
        Beyond::TooMany { devices, nodes } => {
            let nodes = if *nodes == 1 { "1 node".to_owned() } else { format!("{nodes} nodes") };
            format!("{given} is more than {machine} has devices for {of}: {devices} on {nodes}")
        }
    }
}

/// What to do about a question that not even `--extrapolate` answers.
fn never_hint(never: &Never, machine: &str, value: u64) -> String {
    match never {
        Never::TooFar => "nothing is extrapolated this far: all parameters together may lie a \
                          factor of 1024 beyond what was measured, ranks a factor of 8"
            .to_owned(),
        Never::Nodes { measured: (1, 1) } => format!(
            "nothing of a network between nodes was measured on {machine}, so --extrapolate has \
             no answer either: import measurements over several nodes"
        ),
        Never::Nodes { measured: (low, high) } => format!(
            "{machine} was measured on {low} to {high} nodes; nothing is known of the network \
             between others, so --extrapolate has no answer either"
        ),
        Never::Devices { per_node, nodes } => {
            let needed = value.div_ceil((*per_node).max(1));
            if needed <= *nodes {
                return format!("{value} ranks need --nodes {needed}");
            }
            format!(
                "{value} ranks need {needed} nodes, and {machine} was measured on {nodes}: nothing \
                 is known of the network between more, so --extrapolate has no answer either"
            )
        }
        Never::Fixed { domain } => format!(
            "measured: {domain}; nothing says what another value does, so --extrapolate has no \
             answer either"
        ),
    }
}

/// A ratio as people say it: whole from ten on, else one decimal.
fn times(value: u64, largest: u64) -> String {
    let ratio = value as f64 / largest.max(1) as f64;
    if ratio >= 10.0 || ratio.fract() == 0.0 {
        format!("{ratio:.0}")
    } else {
        format!("{ratio:.1}")
    }
}

impl Diagnostic for PredictError {
    fn hint(&self) -> Option<String> {
        match self {
            PredictError::Point(_) => None,
            PredictError::Parameters { measured, .. } => {
                Some(format!("give each of {} once, and no other", measured.join(", ")))
            }
            PredictError::UnknownFamily { have, family, .. } => {
                let names: Vec<&str> = have.iter().map(|family| family.name()).collect();
                let instead = match family {
                    Family::Embedding | Family::Memory => {
                        "; `--basis described --extrapolate` answers from its published figures"
                    }
                    _ => "",
                };
                Some(format!("it has {}{instead}", names.join(", ")))
            }
            PredictError::UnknownVariant { machine, unknown, .. } => {
                let known = unknown.known.join(", ");
                Some(match &unknown.nearest {
                    Some(name) => format!("did you mean `{name}`? {machine} has {known}"),
                    None => format!("{machine} has {known}"),
                })
            }
            PredictError::UnknownCacheState { have, .. } => {
                Some(format!("ask for `{}` operands, or leave the state out", have.name()))
            }
            PredictError::Insufficient { reason, .. } => Some(remedy(reason).to_owned()),
            PredictError::Outside { never: Some(never), machine, value, .. } => {
                Some(never_hint(never, machine, *value))
            }
            PredictError::Outside { .. } => Some(
                "--extrapolate answers from the analytical term, with its wider interval"
                    .to_owned(),
            ),
            PredictError::NotDescribed { .. } => Some(
                "state `memory_gb_s` and `cache_bytes` under [machine.hardware] in dataset.toml, \
                 or leave the basis out to ask the machine's own model"
                    .to_owned(),
            ),
            PredictError::NoReference { .. } => {
                Some("leave the basis out to ask the machine's own model".to_owned())
            }
            PredictError::Store(error) => error.hint(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outside_point_is_named_as_people_would() {
        let error = PredictError::Outside {
            machine: "h200-sxm".into(),
            family: Family::Collective,
            variant: "all_reduce/f16".into(),
            parameter: "bytes".into(),
            value: 64 << 30,
            beyond: Beyond::Above { largest: 512 << 20 },
            never: None,
        };
        assert_eq!(
            error.to_string(),
            "64 GiB is 128 times the largest all-reduce h200-sxm was measured at (512 MiB)"
        );
    }
}
