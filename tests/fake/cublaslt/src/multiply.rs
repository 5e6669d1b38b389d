//! The product itself: `d = op(a) op(b)`, column-major, in the memory of the stand-in driver.
//!
//! One whose operands and result are as it left them computes nothing: a thousand executions
//! take a thousand times their time on the GPUs' clock, and hardly any on this machine.

use std::ffi::c_void;
use std::ops::{AddAssign, Mul};
use std::sync::{Mutex, PoisonError};

use crate::algorithms::{Algorithm, FASTEST, kind};
use crate::objects::Object;
use crate::work::{pass, status};
use crate::{DONE, EXECUTION_FAILED, INVALID_VALUE, Status, fault, number};

/// Microseconds of a product of nothing, bytes per microsecond, and operations per microsecond
/// of 4-byte elements; shorter ones are as much faster.
const LATENCY: f64 = 3.0;
const MEMORY: f64 = 2.0e6;
const ARITHMETIC: f64 = 5.0e7;

/// A matrix in memory.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Matrix {
    data_type: u32,
    width: usize,
    rows: usize,
    columns: usize,
    leading: usize,
    batch: usize,
    stride: usize,
}

impl Matrix {
    fn of(layout: &Object) -> Option<Self> {
        let [rows, columns, leading] = layout.shape.map(|length| length as usize);
        Some(Matrix {
            data_type: layout.types[0],
            width: number::bytes(layout.types[0])?,
            rows,
            columns,
            leading,
            batch: (layout.attribute(5) as usize).max(1),
            stride: layout.attribute(6) as usize,
        })
    }

    fn bytes(&self) -> usize {
        ((self.batch - 1) * self.stride + (self.columns - 1) * self.leading + self.rows)
            * self.width
    }
}

/// A product, described.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    first: Matrix,
    second: Matrix,
    result: Matrix,
    /// Whether the operands are transposed.
    transposed: [bool; 2],
    inner: usize,
    scales: [u64; 2],
}

impl Shape {
    /// The product of these descriptors.
    ///
    /// # Errors
    /// `INVALID_VALUE` where they do not go together.
    pub fn of(
        product: Option<&Object>,
        first: Option<&Object>,
        second: Option<&Object>,
        result: Option<&Object>,
    ) -> Result<Self, Status> {
        let product = product.ok_or(INVALID_VALUE)?;
        let matrix = |layout: Option<&Object>| layout.and_then(Matrix::of).ok_or(INVALID_VALUE);
        let (first, second, result) = (matrix(first)?, matrix(second)?, matrix(result)?);
        let transposed = [3, 4].map(|number| product.attribute(number) == 1);
        let scales = [17, 18].map(|number| product.attribute(number));
        let flipped =
            |m: Matrix, flip| if flip { (m.columns, m.rows) } else { (m.rows, m.columns) };
        let (rows, inner) = flipped(first, transposed[0]);
        let (other, columns) = flipped(second, transposed[1]);
        let agrees = inner == other
            && (rows, columns) == (result.rows, result.columns)
            && first.batch == result.batch
            && second.batch == result.batch;
        if agrees {
            Ok(Shape { first, second, result, transposed, inner, scales })
        } else {
            Err(INVALID_VALUE)
        }
    }

    /// 8-bit operands must lie as NVIDIA's library wants them.
    pub fn is_supported(&self) -> bool {
        let multiple = match self.first.data_type {
            28 => 16,
            3 => 4,
            _ => return true,
        };
        let aligned = |length: usize| length.is_multiple_of(multiple);
        let factors = self.scales.iter().all(|place| place.is_multiple_of(16));
        let sides = aligned(self.inner) && aligned(self.result.rows);
        self.transposed == [true, false] && sides && factors
    }

    fn microseconds(&self) -> f64 {
        let elements = (self.result.rows * self.result.columns * self.result.batch) as f64;
        let arithmetic = 2.0 * elements * self.inner as f64 * self.first.width as f64 / 4.0;
        let bytes = self.first.bytes() + self.second.bytes() + self.result.bytes();
        LATENCY + (arithmetic / ARITHMETIC).max(bytes as f64 / MEMORY)
    }
}

/// What a product was left as: where, of what shape, whether wrong, and some bytes of it.
#[derive(Debug, PartialEq)]
struct Left {
    places: [u64; 3],
    shape: Shape,
    wrong: bool,
    seen: Vec<u8>,
}

static LEFT: Mutex<Option<Left>> = Mutex::new(None);

#[unsafe(no_mangle)]
extern "C" fn cublasLtMatmul(
    _handle: *mut Object,
    product: Option<&Object>,
    _alpha: *const c_void,
    first: *const c_void,
    first_layout: Option<&Object>,
    second: *const c_void,
    second_layout: Option<&Object>,
    _beta: *const c_void,
    _added: *const c_void,
    _added_layout: *mut Object,
    result: *mut c_void,
    result_layout: Option<&Object>,
    algorithm: Option<&Algorithm>,
    _workspace: *mut c_void,
    workspace_bytes: usize,
    _stream: *mut c_void,
) -> Status {
    let Some(kind) = kind(algorithm).filter(|kind| kind.workspace <= workspace_bytes) else {
        return INVALID_VALUE;
    };
    let shape = match Shape::of(product, first_layout, second_layout, result_layout) {
        Ok(shape) if !first.is_null() && !second.is_null() && !result.is_null() => shape,
        _ => return INVALID_VALUE,
    };
    if kind.id == FASTEST && fault("refused_fastest") {
        return EXECUTION_FAILED;
    }
    match pass(kind.slowness * shape.microseconds()) {
        Ok(true) => {}
        other => return status(other),
    }
    let wrong = fault("wrong_product") || kind.id == FASTEST && fault("wrong_fastest");
    let places = [first as u64, second as u64, result as u64];
    let left = || Left { places, shape, wrong, seen: seen(places, &shape) };
    let mut last = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
    if last.as_ref() == Some(&left()) {
        return DONE;
    }
    multiply(places, &shape, if wrong { 1.5 } else { 1.0 });
    *last = Some(left());
    DONE
}

/// The bytes of a matrix.
fn memory<'a>(place: u64, matrix: &Matrix) -> &'a [u8] {
    // SAFETY: the caller of the library vouches that the matrix lies there as described, and
    // nothing writes to it meanwhile.
    unsafe { std::slice::from_raw_parts(place as *const u8, matrix.bytes()) }
}

/// Some bytes of each matrix, which tell whether it was written to since.
fn seen(places: [u64; 3], shape: &Shape) -> Vec<u8> {
    let matrices = [shape.first, shape.second, shape.result];
    let some = places.into_iter().zip(&matrices).flat_map(|(place, matrix)| {
        let bytes = memory(place, matrix);
        (0..64).map(move |part| bytes[(bytes.len() - 1) * part / 63])
    });
    some.collect()
}

fn multiply(places: [u64; 3], shape: &Shape, factor: f64) {
    let scale = |place: u64| match place {
        0 => 1.0,
        // SAFETY: a factor that is not null points to one number of the stand-in's memory.
        place => f64::from(unsafe { *(place as *const f32) }),
    };
    let factor = factor * scale(shape.scales[0]) * scale(shape.scales[1]);
    for product in 0..shape.result.batch {
        match shape.first.data_type {
            1 => compute::<f64>(places, shape, product, factor, |value| value, |sum| sum),
            3 => compute::<i32>(places, shape, product, factor, |value| value as i32, f64::from),
            _ => compute::<f32>(places, shape, product, factor, |value| value as f32, f64::from),
        }
    }
}

/// One product of a batch, on two threads.
fn compute<T>(
    places: [u64; 3],
    shape: &Shape,
    product: usize,
    factor: f64,
    narrow: fn(f64) -> T,
    widen: fn(T) -> f64,
) where
    T: Copy + Default + AddAssign + Mul<Output = T> + Send + Sync,
{
    let rows = gather(places[0], &shape.first, product, shape.transposed[0], narrow);
    let columns = gather(places[1], &shape.second, product, !shape.transposed[1], narrow);
    let Matrix { data_type, width, rows: height, columns: breadth, leading, stride, .. } =
        shape.result;
    let start = places[2] as usize + product * stride * width;
    let part = |range: std::ops::Range<usize>| {
        for column in range {
            let vector = &columns[column * shape.inner..][..shape.inner];
            // SAFETY: the caller of the library vouches that the result lies there as described;
            // the columns of two threads do not overlap.
            let written = unsafe {
                std::slice::from_raw_parts_mut(
                    (start + column * leading * width) as *mut u8,
                    height * width,
                )
            };
            for (row, element) in written.chunks_exact_mut(width).enumerate() {
                let sum = dot(&rows[row * shape.inner..][..shape.inner], vector);
                number::write(data_type, factor * widen(sum), element);
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| part(0..breadth / 2));
        part(breadth / 2..breadth);
    });
}

/// The elements of a matrix such that those of one column (`by_column`) or of one row are
/// neighbours: the ones a dot product takes.
fn gather<T: Copy + Default>(
    place: u64,
    matrix: &Matrix,
    product: usize,
    by_column: bool,
    narrow: fn(f64) -> T,
) -> Vec<T> {
    let Matrix { data_type, width, rows, columns, leading, stride, .. } = *matrix;
    let bytes = &memory(place, matrix)[product * stride * width..];
    let at = |row: usize, column: usize| {
        let element = &bytes[(column * leading + row) * width..][..width];
        narrow(number::read(data_type, element))
    };
    let mut gathered = vec![T::default(); rows * columns];
    let (outer, inner) = if by_column { (columns, rows) } else { (rows, columns) };
    for (line, values) in gathered.chunks_exact_mut(inner).take(outer).enumerate() {
        for (step, value) in values.iter_mut().enumerate() {
            *value = if by_column { at(step, line) } else { at(line, step) };
        }
    }
    gathered
}

/// Sixteen sums side by side, so that the compiler makes vectors of them.
fn dot<T: Copy + Default + AddAssign + Mul<Output = T>>(a: &[T], b: &[T]) -> T {
    const LANES: usize = 16;
    let mut sums = [T::default(); LANES];
    let ((a_parts, a_rest), (b_parts, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in a_parts.iter().zip(b_parts) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let mut sum = T::default();
    for (a, b) in a_rest.iter().zip(b_rest) {
        sum += *a * *b;
    }
    for part in sums {
        sum += part;
    }
    sum
}
