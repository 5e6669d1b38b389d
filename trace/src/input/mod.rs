//! From files to recordings: what kind of file it is, what it is wrapped in, whose rank it is.

pub mod strange;
