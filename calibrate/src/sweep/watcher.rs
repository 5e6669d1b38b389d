//! The progress line of a sweep, and the ear for the user's wish to stop.

use std::time::Duration;

use kernelgauge_data::Point;

use super::Setting;
use crate::measure::Watch;
use crate::progress::{Progress, Standing};

/// Watches a sweep.
pub struct Watcher<'s, 'w> {
    setting: &'s Setting<'s>,
    progress: &'s mut Progress<'w>,
    now: String,
    began: Duration,
    /// Points done, those of earlier runs included.
    pub done: usize,
    /// Predicted time until measuring ends, at the moment the current point began.
    pub left: Duration,
}

impl<'s, 'w> Watcher<'s, 'w> {
    /// A watcher of a sweep with `todo` points to do.
    pub fn new(setting: &'s Setting<'s>, progress: &'s mut Progress<'w>, todo: usize) -> Self {
        Watcher {
            setting,
            progress,
            now: String::new(),
            began: Duration::ZERO,
            done: setting.selected.len() - todo,
            left: Duration::ZERO,
        }
    }

    /// Notes which point is measured from now on.
    pub fn begin(&mut self, point: &Point) {
        let variant = point.variant();
        let word = variant.as_str().split('/').next().unwrap_or_default();
        self.now = format!("{} {word}", point.family());
        self.began = self.setting.clock.elapsed();
        self.tick();
    }
}

impl Watch for Watcher<'_, '_> {
    fn tick(&mut self) {
        let elapsed = self.setting.clock.elapsed();
        let left = self.left.saturating_sub(elapsed.saturating_sub(self.began));
        self.progress.show(&Standing {
            now: &self.now,
            done: self.done,
            total: self.setting.selected.len(),
            elapsed,
            left,
        });
    }

    fn interrupted(&self) -> bool {
        self.setting.interrupt.requested()
    }
}
