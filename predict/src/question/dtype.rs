//! Which element type is meant, among those a machine was measured in.

use kernelgauge_data::{Collective, Dtype, nearest};

use super::{QuestionError, Subject};

/// The dtypes a machine has for one op: in the names of its variants, the words that follow
/// `prefix` (`all_reduce` in `all_reduce/f16`, nothing in the `bf16` of a GEMM).
#[derive(Debug)]
pub struct Vocabulary<'a> {
    machine: &'a str,
    op: &'a str,
    variants: &'a [String],
    dtypes: Vec<Dtype>,
    described: bool,
}

impl<'a> Vocabulary<'a> {
    /// What `subject` has for `op`, whose variants begin with `prefix`.
    pub fn new(subject: &Subject<'a>, op: &'a str, prefix: &str) -> Self {
        let mut dtypes: Vec<Dtype> =
            subject.variants.iter().filter_map(|name| dtype_after(prefix, name)).collect();
        dtypes.sort();
        dtypes.dedup();
        let Subject { machine, variants, described, .. } = *subject;
        Vocabulary { machine, op, variants, dtypes, described }
    }

    /// The vocabulary of a collective: of all-to-all-v that of all-to-all, where it was not
    /// measured itself.
    pub fn of_collective(subject: &Subject<'a>, op: &'a str, collective: Collective) -> Self {
        let own = Vocabulary::new(subject, op, collective.name());
        if collective == Collective::AllToAllV && own.dtypes.is_empty() {
            return Vocabulary::new(subject, op, Collective::AllToAll.name());
        }
        own
    }

    /// The dtype that was given, which the machine must have; without one, the only one.
    ///
    /// # Errors
    /// Lists what the machine has.
    pub fn dtype(&self, given: Option<&str>) -> Result<Dtype, QuestionError> {
        if self.described && self.dtypes.is_empty() {
            return given.map_or(Ok(Dtype::F32), |name| self.parse(name));
        }
        self.not_empty()?;
        match (given, self.dtypes.as_slice()) {
            (Some(name), _) => self.measured(self.parse(name)?),
            (None, [only]) => Ok(*only),
            (None, several) => Err(QuestionError::WhichDtype {
                machine: self.machine.to_owned(),
                op: self.op.to_owned(),
                known: self.known(),
                example: several.first().map_or("f32", |dtype| dtype.name()),
            }),
        }
    }

    /// As [`Vocabulary::dtype`], preferring `usual` where none was given.
    ///
    /// # Errors
    /// Lists what the machine has.
    pub fn dtype_or(&self, given: Option<&str>, usual: Dtype) -> Result<Dtype, QuestionError> {
        if given.is_none() && self.dtypes.contains(&usual) {
            return Ok(usual);
        }
        self.dtype(given)
    }

    /// The dtype of a collective: as given if the machine has it or another can stand in for
    /// it, else the machine's 16-bit float, else its first.
    ///
    /// # Errors
    /// Lists what the machine has.
    pub fn collective_dtype(
        &self,
        collective: Collective,
        given: Option<&str>,
    ) -> Result<Dtype, QuestionError> {
        self.not_empty()?;
        let usual = [Dtype::F16, Dtype::Bf16].into_iter().find(|usual| self.dtypes.contains(usual));
        let Some(name) = given else {
            return Ok(usual.or(self.dtypes.first().copied()).unwrap_or(Dtype::F16));
        };
        let asked = self.parse(name)?;
        match stand_in(collective, asked, &self.dtypes) {
            Some(_) => Ok(asked),
            None => self.measured(asked),
        }
    }

    /// The dtypes, in the order of [`Dtype::ALL`].
    pub fn dtypes(&self) -> &[Dtype] {
        &self.dtypes
    }

    fn not_empty(&self) -> Result<(), QuestionError> {
        if !self.dtypes.is_empty() {
            return Ok(());
        }
        let mut known: Vec<&str> =
            self.variants.iter().filter_map(|name| name.split('/').next()).collect();
        known.sort_unstable();
        known.dedup();
        Err(QuestionError::NoSuchOp {
            machine: self.machine.to_owned(),
            op: self.op.to_owned(),
            known: known.join(", "),
        })
    }

    fn parse(&self, name: &str) -> Result<Dtype, QuestionError> {
        name.parse().map_err(|_| QuestionError::UnknownDtype {
            name: name.to_owned(),
            op: self.op.to_owned(),
            nearest: nearest::unknown("dtype", name, self.dtypes.iter().map(|d| d.name())).nearest,
            machine: self.machine.to_owned(),
            known: self.known(),
        })
    }

    fn measured(&self, asked: Dtype) -> Result<Dtype, QuestionError> {
        if self.described || self.dtypes.contains(&asked) {
            return Ok(asked);
        }
        Err(QuestionError::NoSuchDtype {
            machine: self.machine.to_owned(),
            op: self.op.to_owned(),
            dtype: asked.name(),
            known: self.known(),
        })
    }

    fn known(&self) -> String {
        let names: Vec<&str> = self.dtypes.iter().map(|dtype| dtype.name()).collect();
        names.join(", ")
    }
}

/// The dtype among `measured` whose time at the same bytes answers for `asked`: itself, else,
/// where the collective only moves data or both are floats, the one of the nearest size.
///
/// At the same bytes NCCL moves the same messages: in the published tables of NCCL 2.26 to 2.29
/// int8 and f16 differ by at most 1.3 % (median) in all-gather and all-to-all, and by 4 to 6 %
/// in the reducing collectives, where integers are therefore no stand-in for floats.
pub fn stand_in(collective: Collective, asked: Dtype, measured: &[Dtype]) -> Option<Dtype> {
    if measured.contains(&asked) {
        return Some(asked);
    }
    measured
        .iter()
        .copied()
        .filter(|dtype| !collective.reduces() || (is_float(asked) && is_float(*dtype)))
        .min_by_key(|dtype| {
            (dtype.size().abs_diff(asked.size()), is_float(*dtype) != is_float(asked))
        })
}

/// By what share a time in another dtype may be off: about four times the median difference at
/// the same bytes (see [`stand_in`]), more where the collective also calculates.
pub fn stand_in_difference(collective: Collective) -> f64 {
    if collective.reduces() { 0.15 } else { 0.05 }
}

fn is_float(dtype: Dtype) -> bool {
    !matches!(dtype, Dtype::Int8 | Dtype::Int32 | Dtype::Int64)
}

fn dtype_after(prefix: &str, variant: &str) -> Option<Dtype> {
    let rest = match prefix {
        "" => variant,
        prefix => variant.strip_prefix(prefix)?.strip_prefix('/')?,
    };
    rest.split('/').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use kernelgauge_data::{Diagnostic, Links};

    use super::*;

    fn check(variants: &[&str], op: &str, prefix: &str, given: Option<&str>) -> String {
        let variants: Vec<String> = variants.iter().map(|name| (*name).to_owned()).collect();
        let (machine, links) = ("h200-sxm", Links::Nvswitch);
        let subject = Subject { machine, links, variants: &variants, described: false };
        match Vocabulary::new(&subject, op, prefix).dtype(given) {
            Ok(dtype) => dtype.to_string(),
            Err(error) => format!("{error} / {}", error.hint().unwrap_or_default()),
        }
    }

    #[test]
    fn the_machine_decides_what_can_be_meant() {
        let gemm = ["bf16", "fp8", "fp8_block"];
        assert_eq!(check(&gemm, "gemm", "", Some("bfloat16")), "bf16");
        assert_eq!(
            check(&gemm, "gemm", "", Some("bf61")),
            "unknown dtype `bf61` for gemm / did you mean `bf16`? h200-sxm has bf16, fp8, fp8_block"
        );
        assert_eq!(
            check(&gemm, "gemm", "", Some("f64")),
            "h200-sxm has no gemm in f64 / h200-sxm has bf16, fp8, fp8_block"
        );
        assert_eq!(
            check(&gemm, "gemm", "", None),
            "which dtype? h200-sxm has gemm in bf16, fp8, fp8_block / add --dtype bf16"
        );
        let attention = ["context/bf16/bf16", "context/bf16/fp8", "generation/bf16/bf16"];
        assert_eq!(check(&attention, "context attention", "context", None), "bf16");
        assert_eq!(check(&attention, "attention", "context/bf16", Some("fp8")), "fp8");
        assert_eq!(
            check(&["softmax/f32", "add/f32"], "sum", "sum", None),
            "h200-sxm has no sum / it has add, softmax"
        );
    }

    #[test]
    fn a_dtype_stands_in_where_only_bytes_matter() {
        use Collective::{AllGather, AllReduce};
        let measured = [Dtype::F16, Dtype::Int8];
        assert_eq!(stand_in(AllReduce, Dtype::Bf16, &measured), Some(Dtype::F16));
        assert_eq!(stand_in(AllReduce, Dtype::F32, &measured), Some(Dtype::F16));
        assert_eq!(stand_in(AllReduce, Dtype::Int32, &measured), None);
        assert_eq!(stand_in(AllReduce, Dtype::Int8, &measured), Some(Dtype::Int8));
        assert_eq!(stand_in(AllGather, Dtype::Int32, &measured), Some(Dtype::F16));
        assert_eq!(stand_in(AllGather, Dtype::Fp8, &measured), Some(Dtype::Int8));
    }
}
