//! The domain of a variant: where it was measured, and how far a question lies from there.
//!
//! Each parameter is inside its measured range, near it (at most two octaves beyond, one
//! parameter only) or outside. A parameter that had one value, or that counts devices, has no
//! near: any other value is outside. Two parameters that were always equal must stay equal.
//! Ten octaves out in all, or three in a count of devices, there is no answer at all; nor, as
//! `model` decides, at other nodes than were measured or for more ranks than there are devices.
//! What follows from a status is left to `variant`.

use kernelgauge_data::point::{MAX_PARAMETERS, Parameters};
use kernelgauge_data::{Bytes, Family};
use serde::{Deserialize, Serialize};

use crate::math::log2;
use crate::prediction::DomainStatus;
use crate::rows::Row;

/// How many octaves beyond its range one parameter may lie and still be near.
const NEAR_OCTAVES: f64 = 2.0;

/// Beyond this many octaves, all parameters together, nothing is extrapolated: a thousand times
/// the measured range, where the analytical term is a guess and its interval would say nothing.
const MOST_OCTAVES: f64 = 10.0;

/// The same for each parameter that counts devices. What joins more of them than were measured
/// are other links, of which the measurements know nothing.
const MOST_DEVICE_OCTAVES: f64 = 3.0;

/// The measured range of every parameter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Domain {
    /// Name, smallest and largest value of each parameter.
    parameters: Vec<(String, u64, u64)>,
    /// Pairs of parameters that were equal in every point, and varied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    equal: Vec<(usize, usize)>,
}

/// Where a question lies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Location {
    /// Inside, near or outside.
    pub status: DomainStatus,
    /// Octaves beyond the range, all parameters together.
    pub octaves: f64,
    /// Whether any parameter lies above its range.
    pub above: bool,
    /// Whether any parameter lies below its range.
    pub below: bool,
    /// Whether it is so far out that there is no answer at all.
    pub too_far: bool,
    /// The nearest parameters within the domain.
    pub clamped: Parameters,
    /// The parameter that lies furthest out.
    pub furthest: usize,
}

/// Why a question is outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Beyond {
    /// Larger than anything measured.
    Above {
        /// The largest measured value.
        largest: u64,
    },
    /// Smaller than anything measured.
    Below {
        /// The smallest measured value.
        smallest: u64,
    },
    /// The parameter never varied.
    Fixed {
        /// Its only measured value.
        only: u64,
    },
    /// The parameter was always equal to another.
    Unequal {
        /// The other parameter.
        other: String,
    },
    /// More ranks than the nodes have devices.
    TooMany {
        /// Devices there are.
        devices: u64,
        /// On how many nodes.
        nodes: u64,
    },
}

/// Why there is no answer outside, not even where one is asked to extrapolate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Never {
    /// So far out that the term would be a guess.
    TooFar,
    /// Other nodes than were measured: nothing is known of the network between them.
    Nodes {
        /// The fewest and the most measured.
        measured: (u64, u64),
    },
    /// More ranks than there are devices.
    Devices {
        /// Devices of one node.
        per_node: u64,
        /// The most nodes measured.
        nodes: u64,
    },
    /// A parameter of a custom op that never varied: nobody knows what another value does.
    Fixed {
        /// The domain of the op, in words.
        domain: String,
    },
}

impl Domain {
    /// The domain of `rows`, of which there is at least one.
    pub(crate) fn of(rows: &[Row<'_>]) -> Self {
        let names = rows[0].point.parameter_names();
        let column = |index: usize| rows.iter().map(move |row| row.parameters[index]);
        let parameters: Vec<(String, u64, u64)> = names
            .iter()
            .enumerate()
            .map(|(index, name)| {
                let low = column(index).min().unwrap_or(0);
                let high = column(index).max().unwrap_or(0);
                ((*name).to_owned(), low, high)
            })
            .collect();
        let varies = |index: usize| parameters[index].1 < parameters[index].2;
        let mut equal = Vec::new();
        for first in 0..names.len() {
            for second in first + 1..names.len() {
                if varies(first) && column(first).eq(column(second)) {
                    equal.push((first, second));
                }
            }
        }
        // Sizes that happen to be square say nothing; lengths of one sequence do.
        equal.retain(|pair| parameters[pair.0].0 == "query_len" && rows.len() >= 3);
        Domain { parameters, equal }
    }

    /// Names of the parameters, in the order of their values.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.parameters.iter().map(|(name, ..)| name.as_str())
    }

    /// Number of parameters.
    pub(crate) fn width(&self) -> usize {
        self.parameters.len()
    }

    /// Whether the domain can be one: at most the parameters a point has, ranges in order.
    pub(crate) fn is_sound(&self) -> bool {
        let width = self.width();
        (1..=MAX_PARAMETERS).contains(&width)
            && self.parameters.iter().all(|(_, low, high)| low <= high)
            && self.equal.iter().all(|&(first, second)| first < second && second < width)
    }

    /// Where `values` lie. Never allocates.
    pub(crate) fn locate(&self, values: &Parameters) -> Location {
        let mut clamped = [0; MAX_PARAMETERS];
        let mut location = Location {
            status: DomainStatus::Inside,
            octaves: 0.0,
            above: false,
            below: false,
            too_far: false,
            clamped: *values,
            furthest: 0,
        };
        let (mut moved, mut rigid, mut furthest) = (0, false, 0.0);
        for (index, (name, low, high)) in self.parameters.iter().enumerate() {
            let value = values.get(index).copied().unwrap_or(0);
            clamped[index] = value.clamp(*low, *high);
            if value == clamped[index] {
                continue;
            }
            moved += 1;
            let counts_devices = matches!(name.as_str(), "ranks" | "nodes");
            rigid |= low == high || counts_devices;
            location.above |= value > *high;
            location.below |= value < *low;
            let octaves = octaves_between(value, clamped[index]);
            location.octaves += octaves;
            location.too_far |= counts_devices && octaves > MOST_DEVICE_OCTAVES;
            if octaves > furthest {
                (furthest, location.furthest) = (octaves, index);
            }
        }
        if let Some((_, second)) = self.unequal(values) {
            (rigid, moved, location.furthest) = (true, moved + 1, second);
        }
        location.too_far |= location.octaves > MOST_OCTAVES;
        if moved > 0 {
            let near = moved == 1 && !rigid && location.octaves <= NEAR_OCTAVES;
            location.status = if near { DomainStatus::Near } else { DomainStatus::Outside };
            location.clamped = Parameters::new(&clamped[..self.width()]);
        }
        location
    }

    /// The index, the smallest and the largest value of the parameter called `wanted`.
    pub(crate) fn range(&self, wanted: &str) -> Option<(usize, u64, u64)> {
        let at = self.parameters.iter().position(|(name, ..)| name == wanted)?;
        let (_, low, high) = &self.parameters[at];
        Some((at, *low, *high))
    }

    /// The first parameter that had one value only and has another here.
    pub(crate) fn refixed(&self, values: &Parameters) -> Option<usize> {
        self.parameters.iter().enumerate().position(|(index, (_, low, high))| {
            low == high && values.get(index).is_some_and(|value| value != low)
        })
    }

    fn unequal(&self, values: &Parameters) -> Option<(usize, usize)> {
        self.equal.iter().copied().find(|&(first, second)| values.get(first) != values.get(second))
    }

    /// The parameter that lies furthest out, and how.
    pub(crate) fn beyond(&self, values: &Parameters, furthest: usize) -> (String, u64, Beyond) {
        let value = values.get(furthest).copied().unwrap_or(0);
        let Some((name, low, high)) = self.parameters.get(furthest) else {
            return (String::new(), value, Beyond::Fixed { only: 0 });
        };
        let how = if (*low..=*high).contains(&value) {
            let other = self.unequal(values).map_or(0, |(first, _)| first);
            Beyond::Unequal { other: self.parameters[other].0.clone() }
        } else if low == high {
            Beyond::Fixed { only: *low }
        } else if value > *high {
            Beyond::Above { largest: *high }
        } else {
            Beyond::Below { smallest: *low }
        };
        (name.clone(), value, how)
    }

    /// The domain in words: `m 1..8192, n 64..65536, k 4096`.
    pub(crate) fn text(&self, family: Family) -> String {
        let shown = |(name, low, high): &(String, u64, u64)| {
            let value = |value| shown_value(family, name, value);
            if low == high {
                format!("{name} {}", value(*low))
            } else {
                format!("{name} {}..{}", value(*low), value(*high))
            }
        };
        // Of ours these say nothing new; what `batch` is to a custom op nobody knows.
        let neutral = |(name, low, high): &&(String, u64, u64)| {
            let usual = matches!(name.as_str(), "batch" | "nodes" | "skew");
            family == Family::Custom || !(low == high && *low <= 1 && usual)
        };
        let parts: Vec<String> = self.parameters.iter().filter(neutral).map(shown).collect();
        let mut text = parts.join(", ");
        for &(first, second) in &self.equal {
            let name = |index: usize| &self.parameters[index].0;
            text.push_str(&format!(", {} = {}", name(first), name(second)));
        }
        text
    }
}

/// A parameter's value as people write it: sizes with a unit, the rest as integers.
pub(crate) fn shown_value(family: Family, name: &str, value: u64) -> String {
    let is_size = name == "bytes" && matches!(family, Family::Collective | Family::Copy);
    if is_size { Bytes::new(value).to_string() } else { value.to_string() }
}

fn octaves_between(a: u64, b: u64) -> f64 {
    (log2(a.max(1) as f64) - log2(b.max(1) as f64)).abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn domain() -> Domain {
        Domain {
            parameters: vec![("m".into(), 16, 1024), ("n".into(), 64, 4096), ("k".into(), 8, 8)],
            equal: Vec::new(),
        }
    }

    fn status(values: &[u64]) -> DomainStatus {
        domain().locate(&Parameters::new(values)).status
    }

    #[test]
    fn one_parameter_may_lie_two_octaves_out_but_no_two_and_no_fixed_one() {
        assert_eq!(status(&[16, 4096, 8]), DomainStatus::Inside);
        assert_eq!(status(&[4096, 64, 8]), DomainStatus::Near);
        assert_eq!(status(&[4, 64, 8]), DomainStatus::Near);
        assert_eq!(status(&[4097, 64, 8]), DomainStatus::Outside);
        assert_eq!(status(&[2048, 32, 8]), DomainStatus::Outside);
        assert_eq!(status(&[16, 64, 9]), DomainStatus::Outside);
    }

    #[test]
    fn beyond_a_thousand_times_the_range_there_is_no_answer() {
        let domain = Domain {
            parameters: vec![("ranks".into(), 2, 8), ("bytes".into(), 1024, 1 << 20)],
            equal: Vec::new(),
        };
        for (values, too_far) in [
            ([8, 1 << 20], false),
            ([8, 1 << 30], false),
            ([8, (1 << 30) + (1 << 20)], true),
            ([8, 1], false),
            ([16, 1 << 30], true),
            ([64, 1024], false),
            ([65, 1024], true),
            ([u64::from(u32::MAX), 1024], true),
        ] {
            let location = domain.locate(&Parameters::new(&values));
            assert_eq!(location.too_far, too_far, "{values:?}");
        }
    }

    #[test]
    fn the_text_names_ranges_and_fixed_values() {
        assert_eq!(domain().text(Family::Gemm), "m 16..1024, n 64..4096, k 8");
        let of_one = Domain {
            parameters: vec![("batch".into(), 1, 1), ("width".into(), 8, 64)],
            equal: Vec::new(),
        };
        assert_eq!(of_one.text(Family::Gemm), "width 8..64");
        assert_eq!(of_one.text(Family::Custom), "batch 1, width 8..64");
    }
}
