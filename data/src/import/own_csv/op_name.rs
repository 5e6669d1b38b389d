//! Names of custom ops, made of what stands in the columns that tell them apart.
//!
//! Kernels of C++ differ in symbols, in capitals and far behind the first forty characters.
//! What a name of ours cannot hold is replaced, and then a digest of the whole text follows,
//! so that two texts never become one name.

use sha2::{Digest, Sha256};

use crate::dtype::Dtype;

/// As long as a variant name.
const LONGEST: usize = 63;

/// A name in its own letters and digits of any script, `_`, `-` and `.`; what else it holds
/// becomes `_`, and a digest tells such names apart.
#[derive(Debug, Clone)]
struct Part<'a> {
    text: &'a str,
    plain: String,
    is_whole: bool,
}

impl<'a> Part<'a> {
    fn of(text: &'a str) -> Self {
        let text = text.trim();
        if text.is_empty() {
            // No text is replaced by this.
            return Part { text, plain: "~".to_owned(), is_whole: true };
        }
        let lower = text.to_ascii_lowercase();
        if lower.parse::<Dtype>().is_ok_and(|dtype| dtype.name() == lower) {
            return Part { text, plain: lower, is_whole: true };
        }
        let is_kept = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        let mut plain = String::new();
        for c in text.chars() {
            match c {
                c if is_kept(c) => plain.push(c),
                _ if plain.ends_with('_') => {}
                _ => plain.push('_'),
            }
        }
        Part { text, is_whole: text.chars().all(is_kept), plain }
    }

    /// In at most `most` bytes.
    fn within(&self, most: usize) -> String {
        if self.is_whole && self.plain.len() <= most {
            return self.plain.clone();
        }
        marked(&self.plain, self.text, most)
    }
}

/// The beginning of `plain` and a digest of `text`, in at most `most` bytes.
fn marked(plain: &str, text: &str, most: usize) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let digest: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    let room = most.saturating_sub(digest.len() + 1);
    let mut end = plain.len().min(room);
    while !plain.is_char_boundary(end) {
        end -= 1;
    }
    let kept = plain[..end].trim_end_matches('_');
    if kept.is_empty() { digest } else { format!("{kept}-{digest}") }
}

/// The name of the op that `texts` tell apart: the op, then its variants, joined by `/`.
/// Blank variants at the end are left out.
pub(super) fn op_name(texts: &[&str]) -> String {
    /// Bytes of a variant where all do not fit, and the fewest that are left to the op.
    const VARIANT: usize = 20;
    let stated = texts.iter().rposition(|text| !text.trim().is_empty()).map_or(0, |at| at + 1);
    let parts: Vec<Part<'_>> = texts[..stated].iter().map(|text| Part::of(text)).collect();
    let Some((op, variants)) = parts.split_first() else { return String::new() };
    for most in [usize::MAX, VARIANT] {
        let tail: String =
            variants.iter().map(|variant| format!("/{}", variant.within(most))).collect();
        let room = LONGEST.saturating_sub(tail.len());
        let name = op.within(room);
        if name.len() <= room && room >= VARIANT.min(op.plain.len()) {
            return name + &tail;
        }
    }
    marked(&op.plain, &texts[..stated].join("\0"), LONGEST)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn what_a_name_can_hold_stays_as_it_is() {
        for (texts, name) in [
            (&["fused_mlp"][..], "fused_mlp"),
            (&["FusedMlp", "F32"], "FusedMlp/f32"),
            (&[" softmax.v2 ", "", ""], "softmax.v2"),
            (&["op", "", "a"], "op/~/a"),
            (&["größe"], "größe"),
            (&[""], ""),
        ] {
            assert_eq!(op_name(texts), name, "{texts:?}");
        }
    }

    #[test]
    fn no_two_texts_become_one_name() {
        let long = "void at::native::vectorized_elementwise_kernel<4, at::native::";
        let deep = |last: &str| format!("{}{last}", "namespace_".repeat(20));
        let kernels = [format!("{long}CUDAFunctor_add<float>>"), format!("{long}FillFunctor>")];
        let [add, fill] = kernels.each_ref().map(String::as_str);
        let [deep_a, deep_b] = [deep("a"), deep("b")];
        let many = ["w".repeat(30), "x".repeat(30), "y".repeat(30), "z".repeat(30)];
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let mut other = many.clone();
        other[3] = "zz";
        let all: Vec<Vec<&str>> = vec![
            vec![add],
            vec![fill],
            vec![add, "f32"],
            vec![fill, "f32"],
            vec![&deep_a],
            vec![&deep_b],
            vec!["Foo"],
            vec!["foo"],
            vec!["foo_"],
            vec!["f+"],
            vec!["f*"],
            vec!["f "],
            vec!["f_"],
            vec!["行列"],
            vec!["积"],
            vec!["+"],
            vec!["*"],
            vec!["a/b"],
            vec!["a", "b"],
            vec!["a", "", "b"],
            vec!["a", "~", "b"],
            many,
            other,
        ];
        let names: BTreeSet<String> = all.iter().map(|texts| op_name(texts)).collect();
        assert_eq!(names.len(), all.len(), "{names:#?}");
        for name in &names {
            assert!(name.len() <= LONGEST && !name.is_empty(), "{name}");
        }
        assert!(op_name(&[add, "f32"]).starts_with("void_at_native_vectorized"));
        assert!(op_name(&[add, "f32"]).ends_with("/f32"));
    }
}
