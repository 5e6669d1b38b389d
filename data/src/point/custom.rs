//! Ops this tool does not know, measured over named integer parameters.

use crate::fields::RECORD_COLUMNS;
use crate::point::parts::{MAX_PARAMETERS, Parameters, PointError, VariantName, Work};

/// An op by name with up to eight named integer parameters, the last of which is its axis.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CustomPoint {
    /// Name of the op, dtype and other words included: `my_kernel/f32`.
    pub op: String,
    /// Parameters by name, in file order.
    pub parameters: Vec<(String, u64)>,
}

impl CustomPoint {
    pub(super) fn variant(&self) -> VariantName {
        VariantName::join(&[&self.op])
    }

    pub(super) fn parameter_names(&self) -> Vec<&str> {
        self.parameters.iter().map(|(name, _)| name.as_str()).collect()
    }

    pub(super) fn parameters(&self) -> Parameters {
        let values: Vec<u64> = self.parameters.iter().map(|(_, value)| *value).collect();
        Parameters::new(&values)
    }

    pub(super) fn axis(&self) -> usize {
        self.parameters.len().saturating_sub(1)
    }

    /// Unknown: a custom op has no analytical traffic.
    pub(super) fn work(&self) -> Work {
        Work::default()
    }

    /// Names become file names, variants and columns of data-set files.
    fn check_names(&self) -> Result<(), PointError> {
        /// As long as a variant name.
        const LONGEST: usize = 63;
        let refuse = |text: String| Err(PointError::Inconsistent(text));
        if self.op.is_empty() || self.op.len() > LONGEST {
            return refuse(format!("the name of a custom op has 1 to {LONGEST} bytes"));
        }
        let is_word = |name: &str| {
            !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c))
        };
        for (index, (name, _)) in self.parameters.iter().enumerate() {
            if !is_word(name) || name == "op" || RECORD_COLUMNS.contains(&name.as_str()) {
                return refuse(format!("`{name}` cannot be the name of a parameter"));
            }
            if self.parameters[..index].iter().any(|(earlier, _)| earlier == name) {
                return refuse(format!("parameter `{name}` occurs twice"));
            }
        }
        Ok(())
    }

    pub(super) fn check(&self) -> Result<(), PointError> {
        self.check_names()?;
        if self.parameters.len() > MAX_PARAMETERS {
            let count = self.parameters.len();
            return Err(PointError::Inconsistent(format!(
                "`{}` has {count} parameters; at most {MAX_PARAMETERS} are supported",
                self.op
            )));
        }
        Ok(())
    }
}
