//! Single numbers and texts out of JSON texts.

use serde_json::value::RawValue;

/// An integer, also one in quotes or written with a zero fraction.
pub(super) fn integer(value: &RawValue) -> Option<i64> {
    let text = value.get().trim().trim_matches('"');
    if let Ok(number) = text.parse::<i64>() {
        return Some(number);
    }
    // Pointers of the upper half serve as numbers of groups; only their identity counts.
    if let Ok(number) = text.parse::<u64>() {
        return Some(number.cast_signed());
    }
    let number: f64 = text.parse().ok()?;
    let whole = number.fract() == 0.0 && number.abs() < 9e15;
    whole.then_some(number as i64)
}

/// A number of a node.
pub(super) fn identity(value: &RawValue) -> Option<u64> {
    value.get().trim().trim_matches('"').parse().ok()
}

/// The content of a text; none for anything else.
pub(super) fn text(value: &RawValue) -> Option<String> {
    serde_json::from_str(value.get()).ok()
}

/// The elements of a list; none for anything else.
pub(super) fn list(value: &RawValue) -> Option<Vec<&RawValue>> {
    serde_json::from_str(value.get()).ok()
}

/// Where the recorder cuts lists of values.
const LONGEST_LIST: usize = 4096;

/// Whether a value is or holds, one level down, a list as long as the recorder writes at most.
pub(super) fn has_cut_list(value: &RawValue) -> bool {
    // As many elements and the commas between them take more bytes.
    let may_hold = |value: &RawValue| value.get().len() >= 2 * LONGEST_LIST;
    if !may_hold(value) {
        return false;
    }
    let elements = list(value).unwrap_or_default();
    let is_cut = |element: &&RawValue| {
        may_hold(element) && list(element).is_some_and(|list| list.len() == LONGEST_LIST)
    };
    elements.len() == LONGEST_LIST || elements.iter().any(is_cut)
}
