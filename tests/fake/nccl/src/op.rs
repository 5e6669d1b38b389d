//! One enqueued call: what it sends, from whom it needs data, and what it leaves behind.

use std::sync::Arc;

use super::exchange::is_shared;

/// What a call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    AllReduce,
    Reduce,
    ReduceScatter,
    Broadcast,
    AllGather,
    AllToAll,
    Gather,
    Scatter,
    Send,
    Receive,
    /// Flushing and whatever else moves nothing.
    Nothing,
}

/// A call with its arguments; addresses are the host's, as the stand-in driver's are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Op {
    pub kind: Kind,
    pub send: usize,
    pub receive: usize,
    pub count: usize,
    pub dtype: u32,
    pub reduction: u32,
    /// Root of a rooted collective, peer of a send or receive.
    pub peer: usize,
}

/// What the ranks sent; none where it is not needed.
pub type Sent = Vec<Option<Arc<Vec<u8>>>>;

impl Op {
    /// Bytes of one element, by NCCL's number of its type.
    fn size(&self) -> usize {
        match self.dtype {
            0 | 1 | 10 | 11 => 1,
            6 | 9 => 2,
            4 | 5 | 8 => 8,
            _ => 4,
        }
    }

    fn part(&self) -> usize {
        self.count * self.size()
    }

    /// The bytes this rank sends to all who need them; none where it sends nothing.
    pub fn sent(&self, rank: usize, ranks: usize) -> Option<Vec<u8>> {
        let bytes = match self.kind {
            Kind::AllReduce | Kind::Reduce | Kind::AllGather | Kind::Gather | Kind::Send => {
                self.part()
            }
            Kind::ReduceScatter | Kind::AllToAll => self.part() * ranks,
            Kind::Broadcast if rank == self.peer => self.part(),
            Kind::Scatter if rank == self.peer => self.part() * ranks,
            _ => return None,
        };
        // SAFETY: the caller of NCCL vouches for its buffers.
        Some(unsafe { std::slice::from_raw_parts(self.send as *const u8, bytes) }.to_vec())
    }

    /// Whether this rank cannot end without what `other` sends.
    pub fn needs(&self, rank: usize, other: usize) -> bool {
        match self.kind {
            Kind::Broadcast | Kind::Scatter => other == self.peer,
            Kind::Reduce | Kind::Gather => rank == self.peer,
            Kind::Send | Kind::Receive | Kind::Nothing => false,
            _ => true,
        }
    }

    /// What this rank is left with, from what was sent.
    pub fn result(&self, rank: usize, sent: &Sent) -> Option<Vec<u8>> {
        let part = self.part();
        let of = |other: usize| sent[other].as_deref().map(Vec::as_slice).unwrap_or_default();
        let slice = |other: usize, at: usize| of(other).get(at..at + part).unwrap_or_default();
        let all = 0..sent.len();
        match self.kind {
            Kind::AllReduce => Some(self.reduced(all.map(|other| slice(other, 0)))),
            Kind::Reduce if rank == self.peer => {
                Some(self.reduced(all.map(|other| slice(other, 0))))
            }
            Kind::ReduceScatter => Some(self.reduced(all.map(|other| slice(other, rank * part)))),
            Kind::Broadcast => Some(of(self.peer).to_vec()),
            Kind::AllGather => Some(all.map(of).collect::<Vec<_>>().concat()),
            Kind::Gather if rank == self.peer => Some(all.map(of).collect::<Vec<_>>().concat()),
            Kind::AllToAll => {
                Some(all.map(|other| slice(other, rank * part)).collect::<Vec<_>>().concat())
            }
            Kind::Scatter => Some(slice(self.peer, rank * part).to_vec()),
            _ => None,
        }
    }

    /// Writes `data` where this call receives.
    pub fn write(&self, data: &[u8]) {
        // SAFETY: the caller of NCCL vouches for its buffers; `data` is a copy of its own.
        unsafe {
            std::ptr::copy_nonoverlapping(data.as_ptr(), self.receive as *mut u8, data.len());
        }
    }

    /// The first, middle and last byte where this call received `bytes` bytes.
    pub fn probe(&self, bytes: usize) -> [u8; 3] {
        if bytes == 0 {
            return [0; 3];
        }
        // SAFETY: the caller of NCCL vouches for its buffers, and the places lie within.
        [0, bytes / 2, bytes - 1].map(|at| unsafe { *((self.receive + at) as *const u8) })
    }

    /// Microseconds on a GPU: a latency per doubling of the ranks, and a bandwidth. A law of its
    /// own that no library follows; between processes the latency is long, so that a sample needs
    /// few executions, each of which moves files.
    pub fn duration(&self, ranks: usize) -> f64 {
        let (part, ranks) = (self.part() as f64, ranks as f64);
        let latency = if is_shared() { 20.0 } else { 1.0 };
        let bytes = match self.kind {
            Kind::AllReduce => 2.0 * part * (ranks - 1.0) / ranks,
            Kind::Reduce | Kind::Broadcast => part,
            Kind::Send | Kind::Receive => return latency + part / 1e5,
            Kind::Nothing => return 0.0,
            _ => part * (ranks - 1.0),
        };
        3.0 * latency * ranks.log2() + bytes / 1e5
    }

    fn reduced<'a>(&self, parts: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
        let mut parts = parts;
        let mut result = parts.next().unwrap_or_default().to_vec();
        for part in parts {
            match self.dtype {
                7 => add(&mut result, part, |a, b| {
                    (f32::from_le_bytes(a) + f32::from_le_bytes(b)).to_le_bytes()
                }),
                9 => add(&mut result, part, |a, b| {
                    let wide =
                        |half: [u8; 2]| f32::from_bits(u32::from(u16::from_le_bytes(half)) << 16);
                    (((wide(a) + wide(b)).to_bits() >> 16) as u16).to_le_bytes()
                }),
                6 => add(&mut result, part, |a, b| {
                    half_of(of_half(u16::from_le_bytes(a)) + of_half(u16::from_le_bytes(b)))
                        .to_le_bytes()
                }),
                8 => add(&mut result, part, |a, b| {
                    (f64::from_le_bytes(a) + f64::from_le_bytes(b)).to_le_bytes()
                }),
                2 | 3 => add(&mut result, part, |a, b| {
                    i32::from_le_bytes(a).wrapping_add(i32::from_le_bytes(b)).to_le_bytes()
                }),
                _ => add(&mut result, part, |[a], [b]: [u8; 1]| [a.wrapping_add(b)]),
            }
        }
        result
    }
}

fn add<const N: usize>(to: &mut [u8], from: &[u8], sum: impl Fn([u8; N], [u8; N]) -> [u8; N]) {
    let (to, _) = to.as_chunks_mut::<N>();
    for (a, b) in to.iter_mut().zip(from.as_chunks::<N>().0) {
        *a = sum(*a, *b);
    }
}

/// A half-precision number that is a small whole one, which is all that tests send.
fn of_half(bits: u16) -> f32 {
    let bits = u32::from(bits);
    let sign = (bits & 0x8000) << 16;
    let exponent = bits >> 10 & 31;
    if exponent == 0 {
        return f32::from_bits(sign);
    }
    f32::from_bits(sign | (exponent + 127 - 15) << 23 | (bits & 1023) << 13)
}

fn half_of(number: f32) -> u16 {
    if number == 0.0 {
        return 0;
    }
    let bits = number.to_bits();
    let exponent = (bits >> 23 & 255) as i32 - 127 + 15;
    (bits >> 16 & 0x8000) as u16 | (exponent.clamp(0, 31) as u16) << 10 | (bits >> 13 & 1023) as u16
}
