//! Durations as people read them: `25 s`, `1m 10s`, `2h 05m`.

use std::time::Duration;

/// The duration, rounded to what its length deserves.
pub fn text(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    if seconds < 9.95 {
        return format!("{seconds:.1} s");
    }
    let seconds = seconds.round() as u64;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_reads_well() {
        let shown = |seconds| text(Duration::from_secs_f64(seconds));
        assert_eq!(shown(0.25), "0.2 s");
        assert_eq!(shown(9.96), "10 s");
        assert_eq!(shown(59.4), "59 s");
        assert_eq!(shown(70.0), "1m 10s");
        assert_eq!(shown(59.7), "1m 00s");
        assert_eq!(shown(7500.0), "2h 05m");
    }
}
