//! Collectives that never end, again and again.
//!
//! Each costs its limit and a process. A machine whose NCCL hangs would spend hours on them, so
//! after some in a row no more are tried; everything else goes on.

use kernelgauge_data::{Failure, Point};

/// Collectives in a row that did not end, after which none is tried any more.
const HOPELESS: u32 = 3;

/// How many in a row did not end.
#[derive(Debug, Default)]
pub struct Stuck {
    in_a_row: u32,
    last: String,
}

impl Stuck {
    /// Why `point` is not tried, if it is not.
    ///
    /// # Errors
    /// What the last ones ended with.
    pub fn refuse(&self, point: &Point) -> Result<(), Failure> {
        if !matches!(point, Point::Collective(_)) || self.in_a_row < HOPELESS {
            return Ok(());
        }
        Err(Failure::AfterDeviceLost(format!("{}, {HOPELESS} times in a row", self.last)))
    }

    /// Notes what became of a collective.
    pub fn note<T>(&mut self, outcome: &Result<T, Failure>) {
        match outcome {
            Ok(_) => self.in_a_row = 0,
            Err(Failure::TimedOut(what)) => {
                self.in_a_row += 1;
                self.last.clone_from(what);
            }
            // It ended.
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use kernelgauge_data::{CopyDirection, CopyPoint};

    use super::*;
    use crate::plan::{Catalogue, Plan};

    #[test]
    fn after_three_in_a_row_other_points_are_still_tried() {
        let links = kernelgauge_data::Links::Nvlink;
        let plan =
            Plan::of(Catalogue::Gpu { count: 2, links, nodes: 1, routes: Default::default() }, 0);
        let points = plan.points.into_iter().map(|candidate| candidate.point);
        let collective = points.into_iter().find(|p| matches!(p, Point::Collective(_))).unwrap();
        let direction = CopyDirection::DeviceToDevice;
        let copy = Point::Copy(CopyPoint { direction, pinned: false, bytes: 8 });
        let mut stuck = Stuck::default();
        let late: Result<(), Failure> = Err(Failure::TimedOut("it did not end".to_owned()));
        for outcome in [&late, &late, &Ok(()), &late, &late] {
            stuck.note(outcome);
            assert_eq!(stuck.refuse(&collective), Ok(()));
        }
        stuck.note(&late);
        let words = "it did not end, 3 times in a row".to_owned();
        assert_eq!(stuck.refuse(&collective), Err(Failure::AfterDeviceLost(words)));
        assert_eq!(stuck.refuse(&copy), Ok(()));
    }
}
