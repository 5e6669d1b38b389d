//! Ops this tool does not know, measured over named integer parameters.

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

    pub(super) fn check(&self) -> Result<(), PointError> {
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
