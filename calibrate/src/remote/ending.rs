//! How a process ended, in words.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

/// `it was ended by SIGSEGV (a crash)`, `it ended with exit code 101`.
pub fn words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("it ended with exit code {code}"),
        (None, Some(signal)) => format!("it was ended by {}", signal_words(signal)),
        (None, None) => "it ended".to_owned(),
    }
}

/// Numbers of signals on Linux (signal(7)), x86-64 and aarch64 alike.
fn signal_words(signal: i32) -> String {
    let known = match signal {
        4 => "SIGILL (an illegal instruction)",
        6 => "SIGABRT (it aborted itself)",
        7 => "SIGBUS (a crash)",
        8 => "SIGFPE (a crash)",
        9 => "SIGKILL (by the system for lack of memory, or by hand)",
        11 => "SIGSEGV (a crash)",
        15 => "SIGTERM",
        _ => return format!("signal {signal}"),
    };
    known.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_and_signals_are_told_apart() {
        assert_eq!(words(ExitStatus::from_raw(11)), "it was ended by SIGSEGV (a crash)");
        assert_eq!(words(ExitStatus::from_raw(101 << 8)), "it ended with exit code 101");
        assert_eq!(words(ExitStatus::from_raw(34)), "it was ended by signal 34");
    }
}
