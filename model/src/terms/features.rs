//! The features of a point: a fixed buffer on the stack.

/// Most features a family may have.
pub(crate) const FEATURES: usize = 127;

/// The features of one point. Trees compare them with thresholds and nothing else, so any
/// monotone scale will do and no logarithm is taken. One slot past the last holds minus
/// infinity, which sends leaves of a tree back to themselves.
#[derive(Debug, Clone)]
pub(crate) struct Features {
    values: [f32; FEATURES + 1],
    len: usize,
}

impl Features {
    /// No features.
    pub(crate) fn new() -> Self {
        Features { values: [f32::NEG_INFINITY; FEATURES + 1], len: 0 }
    }

    /// Forgets all features.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// Appends a feature; beyond [`FEATURES`] it is dropped.
    #[inline]
    pub(crate) fn push(&mut self, value: f64) {
        if self.len < FEATURES {
            self.values[self.len] = value as f32;
            self.len += 1;
        }
    }

    /// The features pushed.
    pub(crate) fn as_slice(&self) -> &[f32] {
        &self.values[..self.len]
    }

    /// All slots, the last of which is minus infinity.
    #[inline]
    pub(crate) fn slots(&self) -> &[f32; FEATURES + 1] {
        &self.values
    }
}
