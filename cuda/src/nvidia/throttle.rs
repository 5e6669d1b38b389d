//! Whether the GPU lowered its clock while a sample ran, and how warm it was.
//!
//! The answer of the management library is looked up while work is under way: right after it,
//! an idle GPU would answer for itself. It is asked at most every 20 ms, because it renews its
//! readings far less often than samples end; between two looks the last answer stands.

use std::time::{Duration, Instant};

use super::management::{Handle, Management};

/// Time between two looks.
const INTERVAL: Duration = Duration::from_millis(20);

/// Reasons that lower the clock of a GPU that others would see run faster: hardware slowdown,
/// thermal limits of software and hardware, external power brake (bits of
/// `nvmlClocksEventReasons` in nvml.h). The software power cap (0x4) is not among them: it is
/// what a GPU under full load settles at, in a measurement as in any other work.
const LOWERED: u64 = 0x8 | 0x20 | 0x40 | 0x80;

/// Watches the clock-event reasons of one GPU.
#[derive(Debug, Default)]
pub struct Throttle {
    gpu: Option<(&'static Management, Handle)>,
    looked: Option<Instant>,
    reasons: u64,
    temperature: Option<u32>,
}

impl Throttle {
    /// Watches `gpu`; without it no sample counts as throttled.
    pub fn new(gpu: Option<(&'static Management, Handle)>) -> Self {
        Throttle { gpu, looked: None, reasons: 0, temperature: None }
    }

    /// A sample begins: reasons of earlier ones are forgotten once there is a newer look.
    pub fn begin(&mut self) {
        if self.due() {
            self.reasons = 0;
        }
    }

    /// Looks, unless that was done just now.
    pub fn look(&mut self) {
        if !self.due() {
            return;
        }
        let Some((management, handle)) = self.gpu else { return };
        self.looked = Some(Instant::now());
        self.reasons |= management.clock_event_reasons(handle).unwrap_or(0);
        self.temperature = management.temperature_c(handle);
    }

    /// Whether the last look found the clock lowered.
    pub fn lowered(&self) -> bool {
        self.reasons & LOWERED != 0
    }

    /// Degrees Celsius at the last look, where the GPU says.
    pub fn temperature_c(&self) -> Option<u32> {
        self.temperature
    }

    fn due(&self) -> bool {
        self.looked.is_none_or(|looked| looked.elapsed() >= INTERVAL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heat_lowers_the_clock_and_a_power_cap_is_usual() {
        let lowered = |reasons| Throttle { reasons, ..Throttle::default() }.lowered();
        assert!(lowered(0x20) && lowered(0x40 | 0x4) && lowered(0x8) && lowered(0x80));
        assert!(!lowered(0) && !lowered(0x1) && !lowered(0x2) && !lowered(0x4));
    }

    #[test]
    fn without_the_management_library_nothing_is_throttled() {
        let mut throttle = Throttle::new(None);
        throttle.begin();
        throttle.look();
        assert!(!throttle.lowered());
    }
}
