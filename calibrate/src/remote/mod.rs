//! GPUs measured by another process, so that what kills or stops it costs one point.
//!
//! An error that sticks to its process, a GPU that is lost, a crash inside a driver and a kernel
//! that never ends all end with the process that measures ([`worker`]). The process that keeps
//! plan and journal holds a [`RemoteDevice`] instead: each call of the device is one request and
//! one answer, a JSON line each ([`wire`]), with a deadline. Where none comes, the process is
//! killed, the point has failed, and the next point gets a new process.
//!
//! Left to others: what is measured (`sweep`), when three failures in a row end the run (there
//! too), and the GPUs themselves (`kernelgauge-cuda`).

mod conversation;
mod deadlines;
mod device;
mod ending;
mod last_words;
mod lines;
mod link;
mod process;
mod scrub;
pub mod server;
mod stuck;
pub mod wire;
pub mod worker;

pub use conversation::Conversation;
pub use deadlines::Deadlines;
pub use device::RemoteDevice;
pub use lines::Lines;
pub use link::{Link, NoLine, Starter};
pub use process::ProcessStarter;
pub use stuck::Stuck;

#[cfg(test)]
mod tests;
#[cfg(test)]
pub mod threads;
