//! Versions of the format, and what each lays down.

use crate::error::TraceError;
use crate::options::ReadOptions;

/// The versions this build knows. What follows the first hyphen (`1.1.1-chakra.0.0.4`) names
/// the version of the format it was modelled on and changes nothing in the file.
const KNOWN: [[u32; 3]; 7] =
    [[1, 0, 0], [1, 0, 1], [1, 0, 2], [1, 0, 3], [1, 0, 4], [1, 1, 0], [1, 1, 1]];

/// The first version that nests inputs, outputs and attributes.
const FIRST_NESTED: [u32; 3] = [1, 0, 2];

/// How the fields of a node are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Side by side: `inputs`, `input_shapes`, `parent`.
    Flat,
    /// Nested: `inputs: {values, shapes}`, `ctrl_deps`, `attrs`.
    Nested,
}

/// The layout a version lays down.
///
/// # Errors
///
/// One that is newer than this build or unknown, unless the options allow it; it then counts as
/// the newest known.
pub(super) fn form(
    schema: &str,
    source_name: &str,
    options: &ReadOptions,
) -> Result<Form, TraceError> {
    let version = numbers(schema);
    match version {
        Some(version) if KNOWN.contains(&version) => {
            Ok(if version < FIRST_NESTED { Form::Flat } else { Form::Nested })
        }
        _ if options.allow_unknown_schema => Ok(Form::Nested),
        _ => {
            let newest = KNOWN.last().map(|version| text(*version)).unwrap_or_default();
            let known: Vec<String> = KNOWN.iter().map(|version| text(*version)).collect();
            let newer = version.zip(KNOWN.last()).is_some_and(|(version, last)| version > *last);
            let problem = if newer {
                format!("schema {schema} is newer than {newest}, the newest this build knows")
            } else {
                format!("schema {schema} is none that this build knows")
            };
            Err(TraceError::unusable(
                source_name,
                format!("{problem}; known: {}", known.join(", ")),
                &format!("`--allow-unknown-schema` reads it as {newest}"),
            ))
        }
    }
}

fn numbers(schema: &str) -> Option<[u32; 3]> {
    let version = schema.split('-').next()?;
    let mut parts = version.split('.');
    let mut number = || parts.next()?.parse().ok();
    let numbers = [number()?, number()?, number()?];
    parts.next().is_none().then_some(numbers)
}

fn text([major, minor, patch]: [u32; 3]) -> String {
    format!("{major}.{minor}.{patch}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_say_how_fields_lie() {
        let strict = ReadOptions::default();
        let lenient = ReadOptions { allow_unknown_schema: true, ..strict };
        for (schema, expected) in [
            ("1.0.0", Form::Flat),
            ("1.0.1", Form::Flat),
            ("1.0.2-chakra.0.0.4", Form::Nested),
            ("1.1.1-chakra.1.0.0", Form::Nested),
        ] {
            assert_eq!(form(schema, "t", &strict).unwrap(), expected, "{schema}");
        }
        for schema in ["9.9.9-chakra.9.9.9", "1.0.7", "x", "1.1", ""] {
            assert!(form(schema, "t", &strict).is_err(), "{schema}");
            assert_eq!(form(schema, "t", &lenient).unwrap(), Form::Nested, "{schema}");
        }
        assert_eq!(
            form("9.9.9-chakra.9.9.9", "t", &strict).unwrap_err().to_string(),
            "t: schema 9.9.9-chakra.9.9.9 is newer than 1.1.1, the newest this build knows; \
             known: 1.0.0, 1.0.1, 1.0.2, 1.0.3, 1.0.4, 1.1.0, 1.1.1"
        );
    }
}
