//! A matrix product as something that is timed.

use std::ffi::c_void;
use std::sync::Arc;

use kernelgauge_data::{Failure, GemmPoint, Point};

use super::functions::{Handle, done};
use super::tune::tuned;
use super::{Candidate, Check, Contents, Description, Kind, Problem, library_name};
use crate::nvidia::context::Context;
use crate::nvidia::memory::DeviceBuffer;
use crate::nvidia::operation::{Bench, Operation};
use crate::nvidia::stream::Stream;

/// Workspace an algorithm may use: 32 MiB, what the cuBLAS documentation advises for Hopper
/// (`cublasSetWorkspace`) and PyTorch gives it, and no more than this share of small memories.
const WORKSPACE: u64 = 32 << 20;
const WORKSPACE_SHARE: u64 = 16;
/// Factors of 8-bit floats: not 1, so that a product without them is wrong.
const SCALES: [f32; 2] = [0.5, 0.25];
/// Bytes that the factors take, each in its own place of 16, as they must be aligned.
const SCALES_BYTES: u64 = 32;
/// What a result holds before the product that is compared.
const SPOILED: u8 = 0xa5;

/// Most workspace on a GPU with so much memory.
fn most_workspace(memory_bytes: u64) -> u64 {
    WORKSPACE.min(memory_bytes / WORKSPACE_SHARE)
}

/// Memory that `point` takes: both operands, the result, and the most workspace.
pub fn memory_needed(point: &GemmPoint, memory_bytes: u64) -> u64 {
    let result_bytes =
        Kind::of(point.dtype).map_or(point.output_size(), |kind| kind.result.bytes() as u64);
    let result = [point.batch, point.m, point.n, result_bytes];
    let result = result.into_iter().fold(1, u64::saturating_mul);
    (Point::Gemm(*point).work().bytes_read as u64)
        .saturating_add(result)
        .saturating_add(most_workspace(memory_bytes) + SCALES_BYTES)
}

/// Why the library has no algorithm for `point`, if it has none.
pub fn unsupported(handle: &Arc<Handle>, point: &GemmPoint, memory_bytes: u64) -> Option<String> {
    let kind = Kind::of(point.dtype)?;
    let workspace = most_workspace(memory_bytes);
    let description = Description::new(handle, &kind, &Problem::of(point), workspace);
    match description.and_then(|description| Candidate::proposed(&description, 1)) {
        Ok(proposed) if proposed.is_empty() => Some(no_algorithm()),
        Ok(_) => None,
        Err(failure) => Some(failure.to_string()),
    }
}

fn no_algorithm() -> String {
    "cuBLASLt has no algorithm for this product".to_owned()
}

/// A product with its operands in place and its algorithm chosen.
#[derive(Debug)]
pub struct Product {
    name: String,
    description: Description,
    kind: Kind,
    chosen: Candidate,
    first: DeviceBuffer,
    second: DeviceBuffer,
    result: DeviceBuffer,
    workspace: DeviceBuffer,
    /// The factors of the operands; kept, because the description points at them.
    _scales: Option<DeviceBuffer>,
    check: Check,
}

impl Product {
    /// `point` in the memory of the bench's context, operands random from `seed`, by the first
    /// algorithm that is proposed, or by the fastest of the first `tune`.
    ///
    /// # Errors
    /// When there is no room or no algorithm, or what library and driver say.
    pub fn new(
        handle: &Arc<Handle>,
        point: &GemmPoint,
        (seed, memory_bytes): (u64, u64),
        tune: Option<u32>,
        bench: &mut Bench<'_>,
    ) -> Result<Self, Failure> {
        let Some(kind) = Kind::of(point.dtype) else {
            return Err(Failure::Device(format!("{} products on a GPU", point.dtype)));
        };
        let (stream, problem) = (bench.stream, Problem::of(point));
        let context = stream.context();
        let description = Description::new(handle, &kind, &problem, most_workspace(memory_bytes))?;
        let scales = if kind.scaled { Some(scales(context)?) } else { None };
        if let Some(scales) = &scales {
            // The library's first operand is `b`.
            description.set_scales(scales.pointer() + SCALES_BYTES / 2, scales.pointer())?;
        }
        let candidates = Candidate::proposed(&description, tune.unwrap_or(1))?;
        let Some(first_choice) = candidates.first() else {
            return Err(Failure::Device(no_algorithm()));
        };
        let count = |matrix: super::problem::Matrix| matrix.stride.saturating_mul(problem.batch);
        let a = Contents::new(kind.operand, count(problem.second), seed, 0);
        let b = Contents::new(kind.operand, count(problem.first), seed, 1);
        let workspace = candidates.iter().map(|each| each.workspace).max().unwrap_or(0);
        let scale = if kind.scaled { f64::from(SCALES[0] * SCALES[1]) } else { 1.0 };
        let mut product = Product {
            name: String::new(),
            kind,
            chosen: *first_choice,
            first: b.on_gpu(context, stream)?,
            second: a.on_gpu(context, stream)?,
            result: result(context, count(problem.result), kind)?,
            workspace: DeviceBuffer::new(context, workspace.max(1))?,
            description,
            _scales: scales,
            check: Check::new((point, kind, problem), (a, b), scale, seed),
        };
        let how = match tune {
            Some(_) => {
                product.chosen = tuned(&mut product, &candidates, seed, bench)?;
                format!("fastest of {}", candidates.len())
            }
            None => "first choice".to_owned(),
        };
        let algorithm = product.chosen.describe(handle.functions());
        product.name = format!("{} {algorithm} {how}", library_name());
        Ok(product)
    }

    /// Takes another algorithm.
    pub(super) fn choose(&mut self, candidate: Candidate) {
        self.chosen = candidate;
    }
}

fn scales(context: &Arc<Context>) -> Result<DeviceBuffer, Failure> {
    let buffer = DeviceBuffer::new(context, SCALES_BYTES)?;
    for (index, scale) in SCALES.into_iter().enumerate() {
        buffer.write(index * SCALES_BYTES as usize / 2, &scale.to_ne_bytes())?;
    }
    Ok(buffer)
}

fn result(context: &Arc<Context>, elements: u64, kind: Kind) -> Result<DeviceBuffer, Failure> {
    DeviceBuffer::new(context, elements.saturating_mul(kind.result.bytes() as u64))
}

impl Operation for Product {
    fn name(&self) -> &str {
        &self.name
    }

    fn enqueue(&mut self, stream: &Stream) -> Result<(), Failure> {
        let [product, first, second, result] = self.description.raw();
        // As numbers of eight bytes, so that they are aligned for whatever type they are of.
        let [alpha, beta] = [true, false].map(|one| u64::from_ne_bytes(self.kind.factor(one)));
        let handle = self.description.handle();
        let place = |buffer: &DeviceBuffer| buffer.pointer() as *mut c_void;
        // SAFETY: handle and descriptors are alive and of one product; the operands, the result
        // and the workspace are as large as described and live until the stream was waited for;
        // the factors are read before the call returns (pointer mode host is the default).
        let status = unsafe {
            (handle.functions().multiply)(
                handle.raw(),
                product,
                (&raw const alpha).cast(),
                place(&self.first),
                first,
                place(&self.second),
                second,
                (&raw const beta).cast(),
                place(&self.result),
                result,
                place(&self.result),
                result,
                &raw const self.chosen.algorithm,
                place(&self.workspace),
                self.workspace.bytes(),
                stream.raw().cast(),
            )
        };
        done("cublasLtMatmul", status)
    }

    fn spoil(&mut self) -> Result<(), Failure> {
        self.result.clear(SPOILED)
    }

    fn compare(&mut self) -> Result<(), Failure> {
        self.check.compare(&self.result)
    }
}
