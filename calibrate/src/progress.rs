//! Says on standard error how far a run is: one line that is redrawn on a terminal, a plain
//! line every few seconds elsewhere.
//!
//! Nothing runs beside the measurement: the line is redrawn between samples, so the elapsed
//! time ticks within a point as well. The remaining time weighs points by their predicted cost,
//! corrected by the pace so far (`sweep::pace`).

use std::io::Write;
use std::time::Duration;

use crate::elapsed;

/// Time between two redraws on a terminal, and between two lines elsewhere.
const REDRAW: Duration = Duration::from_millis(200);
const NEXT_LINE: Duration = Duration::from_secs(5);
/// Cells of the bar.
const BAR: usize = 25;
/// Columns of the line, so that a redraw covers what was there.
const WIDTH: usize = 100;

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standing<'a> {
    /// What is measured at this moment, in a word or two.
    pub now: &'a str,
    /// Points done, those of earlier runs included.
    pub done: usize,
    /// Points in all.
    pub total: usize,
    /// Time since the command began.
    pub elapsed: Duration,
    /// Predicted time until measuring ends.
    pub left: Duration,
}

/// Where and how progress is shown.
pub struct Progress<'w> {
    out: &'w mut dyn Write,
    terminal: bool,
    shown: Option<Duration>,
}

impl<'w> Progress<'w> {
    /// Progress on `out`, which is a terminal or not.
    pub fn new(out: &'w mut dyn Write, terminal: bool) -> Self {
        Progress { out, terminal, shown: None }
    }

    /// Shows `standing` if it is time to. A standard error that is gone is no reason to stop
    /// measuring.
    pub fn show(&mut self, standing: &Standing<'_>) {
        let pause = if self.terminal { REDRAW } else { NEXT_LINE };
        let due = self.shown.is_none_or(|shown| standing.elapsed >= shown + pause);
        if !due {
            return;
        }
        self.shown = Some(standing.elapsed);
        let _ = if self.terminal {
            write!(self.out, "\r{:<WIDTH$}", bar_line(standing))
        } else {
            writeln!(self.out, "{}", plain_line(standing))
        };
        let _ = self.out.flush();
    }

    /// Wipes the line of a terminal, so that what follows begins at the margin.
    pub fn clear(&mut self) {
        if self.terminal && self.shown.is_some() {
            let _ = write!(self.out, "\r{:<WIDTH$}\r", "");
            let _ = self.out.flush();
        }
    }

    /// A line of its own, such as a warning, without disturbing the progress line.
    pub fn say(&mut self, line: &str) {
        self.clear();
        let _ = writeln!(self.out, "{line}");
    }
}

/// `gemm f32     [=====>       ] 1022/1840   1m 12s elapsed, about 58 s left`
fn bar_line(standing: &Standing<'_>) -> String {
    let filled = BAR * standing.done / standing.total.max(1);
    let mut bar = "=".repeat(filled);
    if filled < BAR {
        bar.push('>');
    }
    format!("{:<18} [{bar:<BAR$}] {}", standing.now, times(standing))
}

fn plain_line(standing: &Standing<'_>) -> String {
    format!("{:<18} {}", standing.now, times(standing))
}

fn times(standing: &Standing<'_>) -> String {
    format!(
        "{}/{}   {} elapsed, about {} left",
        standing.done,
        standing.total,
        elapsed::text(standing.elapsed),
        elapsed::text(standing.left)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(done: usize, seconds: u64) -> Standing<'static> {
        Standing {
            now: "gemm f32",
            done,
            total: 1840,
            elapsed: Duration::from_secs(seconds),
            left: Duration::from_secs(58),
        }
    }

    fn shown(terminal: bool, steps: &[Standing<'_>]) -> String {
        let mut out = Vec::new();
        let mut progress = Progress::new(&mut out, terminal);
        steps.iter().for_each(|step| progress.show(step));
        progress.clear();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_terminal_sees_one_line_redrawn() {
        let text = shown(true, &[standing(1022, 72), standing(1022, 73)]);
        let lines: Vec<&str> = text.split('\r').collect();
        assert_eq!(
            lines[1].trim_end(),
            "gemm f32           [=============>           ] 1022/1840   1m 12s elapsed, about 58 s left"
        );
        assert!(lines[2].contains("1m 13s elapsed"));
        assert!(lines.iter().all(|line| line.len() <= WIDTH) && lines[3].trim().is_empty());
    }

    #[test]
    fn elsewhere_a_plain_line_every_few_seconds() {
        let text = shown(false, &[standing(0, 0), standing(9, 2), standing(30, 5)]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert_eq!(lines[1], "gemm f32           30/1840   5.0 s elapsed, about 58 s left");
        assert!(!text.contains('\r'));
    }

    #[test]
    fn a_full_bar_is_full() {
        assert!(shown(true, &[standing(1840, 1)]).contains("[=========================]"));
        assert!(shown(true, &[Standing { total: 0, ..standing(0, 1) }]).contains("0/0"));
    }
}
