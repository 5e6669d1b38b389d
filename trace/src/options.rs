//! How strict readers are.

/// How strict readers are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// Accept a list of events that was never closed (`--allow-truncated`): a profiler that
    /// died while writing.
    pub allow_truncated: bool,
    /// Read an execution trace of a schema this build does not know as the newest it knows.
    pub allow_unknown_schema: bool,
    /// Keep functions of Python and the profiler's own cost, which are most of some recordings
    /// and in no graph; they are counted otherwise.
    pub keep_python: bool,
}
