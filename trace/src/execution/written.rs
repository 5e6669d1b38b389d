//! A node as written, in either form.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::schema::Form;
use super::value;

/// The fields of both forms; absent ones are none.
#[derive(Deserialize)]
pub(super) struct WrittenNode<'a> {
    #[serde(borrow)]
    pub id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    parent: Option<&'a RawValue>,
    #[serde(borrow)]
    ctrl_deps: Option<&'a RawValue>,
    #[serde(borrow)]
    rf_id: Option<&'a RawValue>,
    #[serde(borrow)]
    fw_parent: Option<&'a RawValue>,
    #[serde(borrow)]
    seq_id: Option<&'a RawValue>,
    #[serde(borrow)]
    tid: Option<&'a RawValue>,
    #[serde(borrow)]
    fw_tid: Option<&'a RawValue>,
    #[serde(borrow)]
    op_schema: Option<&'a RawValue>,
    #[serde(borrow)]
    inputs: Option<&'a RawValue>,
    #[serde(borrow)]
    input_shapes: Option<&'a RawValue>,
    #[serde(borrow)]
    input_types: Option<&'a RawValue>,
    #[serde(borrow)]
    outputs: Option<&'a RawValue>,
    #[serde(borrow)]
    output_shapes: Option<&'a RawValue>,
    #[serde(borrow)]
    output_types: Option<&'a RawValue>,
    #[serde(borrow)]
    attrs: Option<Vec<WrittenAttribute<'a>>>,
}

#[derive(Deserialize)]
struct WrittenAttribute<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    value: Option<&'a RawValue>,
}

/// Inputs or outputs: JSON texts, empty where absent.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(super) struct WrittenValues<'a> {
    #[serde(borrow)]
    pub values: Option<&'a RawValue>,
    #[serde(borrow)]
    pub shapes: Option<&'a RawValue>,
    #[serde(borrow)]
    pub types: Option<&'a RawValue>,
    #[serde(borrow)]
    pub strides: Option<&'a RawValue>,
}

impl<'a> WrittenNode<'a> {
    /// In which form it is.
    pub fn form(&self) -> Form {
        let nested_inputs = self.inputs.is_some_and(|inputs| inputs.get().starts_with('{'));
        if self.attrs.is_some() || self.ctrl_deps.is_some() || nested_inputs {
            Form::Nested
        } else {
            Form::Flat
        }
    }

    /// A field that nests in `attrs` since 1.0.2.
    pub fn attribute(&self, name: &str) -> Option<&'a RawValue> {
        let beside = match name {
            "rf_id" => self.rf_id,
            "fw_parent" => self.fw_parent,
            "seq_id" => self.seq_id,
            "tid" => self.tid,
            "fw_tid" => self.fw_tid,
            "op_schema" => self.op_schema,
            _ => None,
        };
        beside.or_else(|| {
            let mut attributes = self.attrs.iter().flatten();
            attributes.find(|attribute| attribute.name == name)?.value
        })
    }

    /// An integer field that nests in `attrs` since 1.0.2.
    pub fn integer(&self, name: &str) -> Option<i64> {
        self.attribute(name).and_then(value::integer)
    }

    /// A text field that nests in `attrs` since 1.0.2.
    pub fn text(&self, name: &str) -> Option<String> {
        self.attribute(name).and_then(value::text)
    }

    /// The number of the node around it: one integer, although `ctrl_deps` sounds like several.
    ///
    /// # Errors
    ///
    /// The text of what is there instead of an integer.
    pub fn parent(&self) -> Result<Option<u64>, String> {
        let (name, parent) = match (self.ctrl_deps, self.parent) {
            (Some(parent), _) => ("ctrl_deps", parent),
            (None, Some(parent)) => ("parent", parent),
            (None, None) => return Ok(None),
        };
        value::identity(parent)
            .map(Some)
            .ok_or_else(|| format!("{name} is no single number: {}", shortened(parent.get())))
    }

    /// Its inputs.
    pub fn inputs(&self) -> Result<WrittenValues<'a>, serde_json::Error> {
        values(self.inputs, self.input_shapes, self.input_types)
    }

    /// Its outputs.
    pub fn outputs(&self) -> Result<WrittenValues<'a>, serde_json::Error> {
        values(self.outputs, self.output_shapes, self.output_types)
    }
}

fn values<'a>(
    values: Option<&'a RawValue>,
    shapes: Option<&'a RawValue>,
    types: Option<&'a RawValue>,
) -> Result<WrittenValues<'a>, serde_json::Error> {
    match values {
        Some(nested) if nested.get().starts_with('{') => serde_json::from_str(nested.get()),
        _ => Ok(WrittenValues { values, shapes, types, strides: None }),
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}
