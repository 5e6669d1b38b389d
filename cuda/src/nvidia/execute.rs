//! Which points the GPUs of a run execute, what memory each takes, and its operands in place.
//!
//! Left to others: opening GPUs and what is known of them (`device`), what is enqueued (`copy`,
//! `fill`, `cublaslt`, `matrix`, `embedding`), and how it is timed (`operation`).

use std::sync::Arc;

use kernelgauge_data::{
    Bytes, CacheState, CopyDirection, CopyPoint, Direction, EmbeddingPoint, Failure, GemmPoint,
    Manner, MemoryOp, MemoryPoint, Point,
};

use super::context::Context;
use super::copy::{DeviceCopy, HostCopy};
use super::cublaslt::{self, Product};
use super::device::CudaDevice;
use super::element::Element;
use super::fill::Fill;
use super::memory::DeviceBuffer;
use super::operation::{Bench, Timed, pairs};
use super::stream::{Event, Stream};
use super::{embedding, matrix, overheads};
use crate::device::Workload;

/// A GPU that executes in the first one's place, and what it is timed with.
#[derive(Debug)]
pub struct Elsewhere {
    gpu: u32,
    // Dropped in this order.
    pairs: Vec<(Event, Event)>,
    stream: Stream,
    context: Arc<Context>,
}

impl CudaDevice {
    /// Why the GPU cannot execute `point`.
    pub(super) fn unsupported(
        &self,
        point: &Point,
        cache: CacheState,
        manner: Manner,
    ) -> Option<String> {
        if let Err(error) = point.check() {
            return Some(error.to_string());
        }
        if let Point::Custom(custom) = point {
            let no_operands = cache == CacheState::Unstated;
            return overheads::unsupported(custom, self.kernels.missing())
                .or_else(|| (!no_operands).then(|| "a launch has no operands".to_owned()));
        }
        if cache == CacheState::Unstated {
            return Some("a measurement states whether its operands are hot or cold".to_owned());
        }
        match (point, manner) {
            (Point::Collective(collective), _) => {
                return self.collectives.unsupported(collective, cache, manner);
            }
            (Point::Copy(copy), Manner::Pair { from, to }) => {
                if let Some(what) = self.unsupported_pair(copy, from, to) {
                    return Some(what);
                }
            }
            (_, Manner::Usual) => {}
            (_, other) => return Some(format!("{} {other}", point.family())),
        }
        match point {
            Point::Copy(copy) => self.unsupported_copy(copy, cache),
            Point::Gemm(gemm) => self.unsupported_gemm(gemm),
            Point::Memory(memory) => unsupported_memory(memory).or_else(|| {
                let by_driver = memory.op == MemoryOp::Fill;
                if by_driver { None } else { self.kernels.missing() }
            }),
            Point::Embedding(bag) => embedding::unsupported(bag).or_else(|| self.kernels.missing()),
            _ => Some(format!("{} on a GPU", point.family())),
        }
    }

    fn unsupported_gemm(&self, gemm: &GemmPoint) -> Option<String> {
        let gpu = self.first()?;
        if let Some(reason) = cublaslt::refused(gemm, gpu.compute) {
            return Some(reason);
        }
        match self.cublas_lt() {
            Ok(library) => cublaslt::unsupported(library, gemm, gpu.memory_bytes),
            Err(reason) => Some(reason),
        }
    }

    fn unsupported_copy(&self, copy: &CopyPoint, cache: CacheState) -> Option<String> {
        let to_host =
            matches!(copy.direction, CopyDirection::HostToDevice | CopyDirection::DeviceToHost);
        match copy.direction {
            CopyDirection::HostToHost => return Some("h2h copies on a GPU".to_owned()),
            CopyDirection::PeerToPeer if self.gpus.len() < 2 => return Some(no_peer()),
            _ => {}
        }
        if copy.pinned && !to_host {
            return Some("page-locked memory in a copy that the host has no part in".to_owned());
        }
        (cache == CacheState::Cold && copy.direction != CopyDirection::DeviceToDevice)
            .then(|| format!("{} copies with a flushed cache", copy.direction))
    }

    fn unsupported_pair(&self, copy: &CopyPoint, from: u32, to: u32) -> Option<String> {
        if copy.direction != CopyDirection::PeerToPeer || from == to {
            return Some(format!("{} copies from GPU {from} to {to}", copy.direction));
        }
        let count = self.gpus.len();
        let absent = [from, to].into_iter().find(|gpu| *gpu as usize >= count)?;
        Some(format!("GPU {absent} of a run on {count}"))
    }

    /// Memory on the executing GPU; a peer has as much, and the host's part is the smaller.
    pub(super) fn needed(&self, point: &Point, _cache: CacheState) -> Bytes {
        Bytes::new(match point {
            Point::Copy(copy) if copy.direction == CopyDirection::DeviceToDevice => {
                copy.bytes.saturating_mul(2)
            }
            Point::Copy(copy) => copy.bytes,
            Point::Collective(collective) => self.collectives.needed(collective, Manner::Usual),
            Point::Gemm(gemm) => cublaslt::memory_needed(gemm, self.memory_bytes()),
            Point::Memory(memory) if memory.op == MemoryOp::Fill => memory.bytes_written(),
            Point::Memory(memory) => {
                matrix::bytes(memory, self.kernels.units()).unwrap_or(u64::MAX)
            }
            Point::Embedding(bag) => embedding::bytes(bag).unwrap_or(u64::MAX),
            _ => point.work().bytes() as u64,
        })
    }

    /// `point` with its operands in place.
    pub(super) fn prepared(
        &mut self,
        point: &Point,
        cache: CacheState,
        manner: Manner,
        seed: u64,
    ) -> Result<Box<dyn Workload + '_>, Failure> {
        if let Some(what) = self.unsupported(point, cache, manner) {
            return Err(Failure::Device(what));
        }
        if let Point::Collective(collective) = point {
            let CudaDevice { collectives, throttle, .. } = self;
            return collectives.prepared(throttle, collective, manner, seed);
        }
        self.context.make_current()?;
        self.ready_to_flush(cache)?;
        match point {
            Point::Copy(copy) => match manner {
                Manner::Pair { from, to } => self.prepared_pair(copy, (from, to), seed),
                _ => self.prepared_copy(copy, cache, seed),
            },
            Point::Memory(memory) => self.prepared_memory(memory, cache, seed),
            Point::Embedding(bag) => self.prepared_embedding(bag, cache, seed),
            Point::Custom(custom) => {
                let parts = overheads::Parts::new(custom, &self.stream, &mut self.kernels)?;
                overheads::Overhead::boxed(custom, parts, self.bench(cache))
            }
            Point::Gemm(gemm) => {
                let library = Arc::clone(self.cublas_lt().map_err(Failure::Device)?);
                let (sources, tune) = ((seed, self.memory_bytes()), self.gemm_tune);
                let mut bench = self.bench(cache);
                let product = Product::new(&library, gemm, sources, tune, &mut bench)?;
                Ok(Timed::boxed(product, cache, bench))
            }
            _ => Err(Failure::Device(format!("{} on a GPU", point.family()))),
        }
    }

    fn memory_bytes(&self) -> u64 {
        self.first().map_or(0, |gpu| gpu.memory_bytes)
    }

    fn prepared_copy(
        &mut self,
        point: &CopyPoint,
        cache: CacheState,
        seed: u64,
    ) -> Result<Box<dyn Workload + '_>, Failure> {
        let bytes = point.bytes;
        let copy = match point.direction {
            CopyDirection::PeerToPeer => {
                let peer = self.peer()?;
                DeviceCopy::between(&self.context, &peer, bytes, seed)?
            }
            CopyDirection::DeviceToDevice => DeviceCopy::within(&self.context, bytes, seed)?,
            _ => {
                let copy = HostCopy::new(&self.context, point, seed)?;
                return Ok(Timed::boxed(copy, cache, self.bench(cache)));
            }
        };
        Ok(Timed::boxed(copy, cache, self.bench(cache)))
    }

    /// A copy between any two GPUs, enqueued on the one that is read.
    fn prepared_pair(
        &mut self,
        point: &CopyPoint,
        (from, to): (u32, u32),
        seed: u64,
    ) -> Result<Box<dyn Workload + '_>, Failure> {
        let target = self.retained(to)?;
        if self.elsewhere.as_ref().is_none_or(|elsewhere| elsewhere.gpu != from) {
            let context = self.retained(from)?;
            let stream = Stream::new(&context)?;
            self.elsewhere = Some(Elsewhere { gpu: from, pairs: pairs(&stream)?, stream, context });
        }
        let CudaDevice {
            elsewhere: Some(Elsewhere { stream, pairs, context, .. }), throttle, ..
        } = self
        else {
            return Err(Failure::Device(no_peer()));
        };
        let copy = DeviceCopy::between(context, &target, point.bytes, seed)?;
        let bench = Bench { stream, pairs, flush: None, throttle, clock: None };
        Ok(Timed::in_manner(copy, Manner::Pair { from, to }, bench))
    }

    fn retained(&self, gpu: u32) -> Result<Arc<Context>, Failure> {
        let facts = self.gpus.get(gpu as usize);
        Context::retain(facts.ok_or_else(|| Failure::Device(no_peer()))?.device)
    }

    fn prepared_memory(
        &mut self,
        point: &MemoryPoint,
        cache: CacheState,
        seed: u64,
    ) -> Result<Box<dyn Workload + '_>, Failure> {
        if let (MemoryOp::Fill, Some(element)) = (point.op, Element::of(point.dtype)) {
            let fill = Fill::new(&self.context, element, point.elements(), seed)?;
            return Ok(Timed::boxed(fill, cache, self.bench(cache)));
        }
        let matrix = matrix::prepared(point, &self.stream, &mut self.kernels, seed)?;
        Ok(Timed::boxed(matrix, cache, self.bench(cache)))
    }

    fn prepared_embedding(
        &mut self,
        point: &EmbeddingPoint,
        cache: CacheState,
        seed: u64,
    ) -> Result<Box<dyn Workload + '_>, Failure> {
        let (stream, kernels) = (&self.stream, &mut self.kernels);
        match point.direction {
            Direction::Forward => {
                let pooled = embedding::forward(point, stream, kernels, seed)?;
                Ok(Timed::boxed(pooled, cache, self.bench(cache)))
            }
            Direction::Backward => {
                let updated = embedding::backward(point, stream, kernels, seed)?;
                Ok(Timed::boxed(updated, cache, self.bench(cache)))
            }
        }
    }

    /// What a cold operation overwrites first, allocated once.
    fn ready_to_flush(&mut self, cache: CacheState) -> Result<(), Failure> {
        if cache == CacheState::Cold && self.flush.is_none() {
            self.flush = Some(DeviceBuffer::new(&self.context, self.flush_bytes().max(1))?);
        }
        Ok(())
    }

    /// The context of the second GPU, retained once.
    fn peer(&mut self) -> Result<Arc<Context>, Failure> {
        if let Some(peer) = &self.peer {
            return Ok(Arc::clone(peer));
        }
        let Some(second) = self.gpus.get(1) else { return Err(Failure::Device(no_peer())) };
        let peer = Context::retain(second.device)?;
        self.peer = Some(Arc::clone(&peer));
        Ok(peer)
    }

    fn bench(&mut self, cache: CacheState) -> Bench<'_> {
        let CudaDevice { stream, pairs, flush, throttle, clock, .. } = self;
        let flush = flush.as_ref().filter(|_| cache == CacheState::Cold);
        Bench { stream, pairs, flush, throttle, clock: clock.as_ref() }
    }
}

fn unsupported_memory(memory: &MemoryPoint) -> Option<String> {
    let has_kernel = Element::of(memory.dtype).is_some();
    (!has_kernel).then(|| format!("{} of {} on a GPU", memory.op, memory.dtype))
}

fn no_peer() -> String {
    "one GPU has no peer: name two, such as `--device 0,1`".to_owned()
}
