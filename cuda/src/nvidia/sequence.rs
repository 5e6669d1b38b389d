//! An operation that is one launch or several in order.

use kernelgauge_data::Failure;

use super::module::Launch;
use super::operation::Operation;
use super::stream::Stream;

/// What knows the result of launches.
pub trait Check {
    /// Spoils the result, or takes note of what it was.
    ///
    /// # Errors
    /// What the driver says.
    fn spoil(&mut self) -> Result<(), Failure>;

    /// Compares the result with a plain reference.
    ///
    /// # Errors
    /// [`Failure::WrongResult`], or what the driver says.
    fn compare(&mut self) -> Result<(), Failure>;
}

/// Launches, and a check that holds their operands.
#[derive(Debug)]
pub struct Sequence<C> {
    name: String,
    launches: Vec<Launch>,
    check: C,
}

impl<C: Check> Sequence<C> {
    /// `launches` in order, under the name of the kernel or kernels that do the work.
    pub fn new(name: impl Into<String>, launches: Vec<Launch>, check: C) -> Self {
        Sequence { name: name.into(), launches, check }
    }
}

impl<C: Check> Operation for Sequence<C> {
    fn name(&self) -> &str {
        &self.name
    }

    fn enqueue(&mut self, stream: &Stream) -> Result<(), Failure> {
        self.launches.iter().try_for_each(|launch| launch.enqueue(stream))
    }

    fn spoil(&mut self) -> Result<(), Failure> {
        self.check.spoil()
    }

    fn compare(&mut self) -> Result<(), Failure> {
        self.check.compare()
    }
}
