//! Machines that lend to each other.
