//! What held-out points exceed their answers by, sorted by where the answers come from.

/// A held-out point between measured ones, on a line never measured, or near the domain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Held {
    /// Octaves between its neighbours, or beyond the domain; zero without.
    pub gap: f64,
    /// The answer, as log nanoseconds.
    pub log_ns: f64,
    /// `ln(measured / predicted)`.
    pub residual: f64,
}

impl Held {
    /// A residual whose answer is not known: it says nothing of times.
    pub(crate) fn of_no_time(residual: f64) -> Held {
        Held { gap: 0.0, log_ns: 0.0, residual }
    }
}

/// Residuals by region, of held-out points.
#[derive(Debug, Clone, Default)]
pub(crate) struct Residuals {
    /// Points between measured ones.
    pub known: Vec<Held>,
    /// The same where whole values of the axis were held out.
    pub fresh: Vec<Held>,
    /// Points on lines that were held out whole.
    pub unseen: Vec<Held>,
    /// Points on lines never measured, at values of the axis that were held out whole.
    pub strange: Vec<Held>,
    /// Points beyond what was left in.
    pub near: Vec<Held>,
    /// The analytical term's.
    pub analytical: Vec<f64>,
    /// The learned regression's.
    pub learned: Vec<f64>,
    /// Half the log ratio of the slowest and the fastest repeat of a point.
    pub repeats: Vec<f64>,
}

impl Residuals {
    /// Adds those of another set of held-out points.
    pub(crate) fn extend(&mut self, other: Residuals) {
        self.known.extend(other.known);
        self.fresh.extend(other.fresh);
        self.unseen.extend(other.unseen);
        self.strange.extend(other.strange);
        self.near.extend(other.near);
        self.analytical.extend(other.analytical);
        self.learned.extend(other.learned);
        self.repeats.extend(other.repeats);
    }
}
