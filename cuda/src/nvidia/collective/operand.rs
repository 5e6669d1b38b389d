//! One rank's buffers, filled; in place both are one.

use kernelgauge_data::{Collective, CollectivePoint, Failure};

use super::content::Content;
use super::ranks::Local;
use super::shape::Shape;
use crate::nccl::DevicePointer;
use crate::nvidia::memory::DeviceBuffer;
use crate::nvidia::stream::Stream;

/// What a result holds before the collective that is compared.
const SPOILED: u8 = 0xa5;

/// The memory of one rank.
#[derive(Debug)]
pub struct Operand {
    rank: u64,
    send: DeviceBuffer,
    /// None where the result replaces what was sent.
    receive: Option<DeviceBuffer>,
    /// Where, in bytes, what is sent and what is received begin.
    send_at: u64,
    receive_at: u64,
    sent: u64,
}

/// Bytes of both buffers of the rank that needs most.
pub fn bytes(shape: &Shape, point: &CollectivePoint, in_place: bool) -> u64 {
    let of = |rank| {
        let (sent, received) = (shape.sent(rank), shape.received(rank));
        if in_place { sent.max(received) } else { sent + received }
    };
    (0..point.ranks).map(of).max().unwrap_or_default() * point.dtype.size()
}

impl Operand {
    /// The buffers of `local`, what is sent in place.
    ///
    /// # Errors
    /// When its GPU has no room, or what the driver says.
    pub fn new(
        local: &Local,
        point: &CollectivePoint,
        shape: &Shape,
        content: &Content,
        in_place: bool,
    ) -> Result<Self, Failure> {
        let (rank, size) = (u64::from(local.rank), point.dtype.size());
        let (sent, received) = (shape.sent(rank), shape.received(rank));
        let buffer = |elements: u64| DeviceBuffer::new(&local.context, (elements * size).max(8));
        let own = rank * shape.count * size;
        let (send_at, receive_at) = match point.collective {
            Collective::AllGather if in_place => (own, 0),
            Collective::ReduceScatter if in_place => (0, own),
            _ => (0, 0),
        };
        let send = buffer(if in_place { sent.max(received) } else { sent })?;
        let receive = if in_place { None } else { Some(buffer(received)?) };
        let operand = Operand { rank, send, receive, send_at, receive_at, sent };
        operand.fill(content, &local.stream)?;
        Ok(operand)
    }

    /// Writes what is sent, or enqueues that.
    ///
    /// # Errors
    /// What the driver says.
    pub fn fill(&self, content: &Content, stream: &Stream) -> Result<(), Failure> {
        let block = content.sent(self.rank, self.sent);
        let start = self.send_at as usize;
        self.send.write(start, &block)?;
        let bytes = (self.sent * content.size()) as usize;
        self.send.repeat_within(start, block.len(), bytes, stream)
    }

    /// Makes ready for an execution whose result is compared.
    ///
    /// # Errors
    /// What the driver says.
    pub fn renew(&self, content: &Content, stream: &Stream) -> Result<(), Failure> {
        match &self.receive {
            Some(receive) => receive.clear(SPOILED),
            None => self.fill(content, stream),
        }
    }

    /// Compares the result.
    ///
    /// # Errors
    /// [`Failure::WrongResult`], or what the driver says.
    pub fn compare(&self, shape: &Shape, content: &Content) -> Result<(), Failure> {
        let buffer = self.receive.as_ref().unwrap_or(&self.send);
        content.compare(shape, self.rank, |offset, part| {
            buffer.read((self.receive_at + offset) as usize, part)
        })
    }

    /// Where what is sent begins.
    pub fn send(&self) -> DevicePointer {
        DevicePointer(self.send.pointer() + self.send_at)
    }

    /// Where what is received begins.
    pub fn receive(&self) -> DevicePointer {
        let buffer = self.receive.as_ref().unwrap_or(&self.send);
        DevicePointer(buffer.pointer() + self.receive_at)
    }
}
