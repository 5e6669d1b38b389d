//! How the operands of a matrix product lie in memory.
//!
//! The letters speak of row-major operands, as PyTorch and NumPy hold them: the first of `a`, the
//! second of `b`, `n` for one that lies as it is multiplied and `t` for one whose transpose does.
//! BLAS counts columns first; it calls `nt` of here `TN`, `tn` of here `NT`, and `nn` the same.

use std::fmt;
use std::str::FromStr;

use crate::nearest::{self, UnknownName};

/// Which operands of `c[m,n] = a[m,k] * b[k,n]` are stored transposed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GemmLayout {
    /// The source does not say. A question that does not say either means this, and [`Self::Nt`]
    /// of a machine that has nothing else.
    #[default]
    Unstated,
    /// `a[m,k]`, `b[k,n]`.
    Nn,
    /// `a[m,k]`, `b[n,k]`: a linear layer, `y = x Wᵀ`.
    Nt,
    /// `a[k,m]`, `b[k,n]`: the gradient of a linear layer's weights.
    Tn,
}

impl GemmLayout {
    /// The layouts that can be stated.
    pub const STATED: [GemmLayout; 3] = [GemmLayout::Nn, GemmLayout::Nt, GemmLayout::Tn];

    /// `nn`, `nt`, `tn`, or empty.
    pub const fn name(self) -> &'static str {
        match self {
            GemmLayout::Unstated => "",
            GemmLayout::Nn => "nn",
            GemmLayout::Nt => "nt",
            GemmLayout::Tn => "tn",
        }
    }

    /// Whether the rows of what is stored for `a` are the `k`s.
    pub const fn a_is_transposed(self) -> bool {
        matches!(self, GemmLayout::Tn)
    }

    /// Whether the rows of what is stored for `b` are the `n`s.
    pub const fn b_is_transposed(self) -> bool {
        matches!(self, GemmLayout::Nt)
    }
}

impl fmt::Display for GemmLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Small letters alone: capitals are BLAS's, and mean other layouts.
impl FromStr for GemmLayout {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let stated = GemmLayout::STATED.into_iter();
        let mut known = stated.chain([GemmLayout::Unstated]);
        match known.find(|layout| layout.name() == text) {
            Some(layout) => Ok(layout),
            None => {
                let names = GemmLayout::STATED.map(GemmLayout::name);
                Err(nearest::unknown("layout", text, names))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_and_capitals_are_refused() {
        for layout in GemmLayout::STATED.into_iter().chain([GemmLayout::Unstated]) {
            assert_eq!(layout.name().parse(), Ok(layout));
        }
        assert_eq!("TN".parse::<GemmLayout>().unwrap_err().to_string(), "unknown layout `TN`");
    }
}
