//! The descriptors of one product: its types, its three matrices, and what an algorithm may use.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;

use kernelgauge_data::Failure;

use super::functions::{Functions, Handle, Opaque, Status, done};
use super::problem::Matrix;
use super::{Kind, Problem};

/// Attributes by their numbers in cublasLt.h: `cublasLtMatmulDescAttributes_t`,
/// `cublasLtMatrixLayoutAttribute_t`, `cublasLtMatmulPreferenceAttributes_t`.
mod attribute {
    pub const TRANSPOSE_FIRST: u32 = 3;
    pub const TRANSPOSE_SECOND: u32 = 4;
    pub const FIRST_SCALE_POINTER: u32 = 17;
    pub const SECOND_SCALE_POINTER: u32 = 18;
    pub const BATCH_COUNT: u32 = 5;
    pub const BATCH_STRIDE: u32 = 6;
    pub const MOST_WORKSPACE: u32 = 1;
}
/// `CUBLAS_OP_T`; `CUBLAS_OP_N` is 0 and the default.
const TRANSPOSE: i32 = 1;

/// One of the library's objects, destroyed when dropped.
#[derive(Debug)]
struct Owned {
    raw: Opaque,
    destroy: unsafe extern "C" fn(Opaque) -> Status,
}

impl Owned {
    /// What `create` writes to its argument.
    fn new(
        call: &str,
        destroy: unsafe extern "C" fn(Opaque) -> Status,
        create: impl FnOnce(*mut Opaque) -> Status,
    ) -> Result<Self, Failure> {
        let mut raw = null_mut();
        done(call, create(&raw mut raw))?;
        Ok(Owned { raw, destroy })
    }

    /// Sets an attribute through the function that is for this kind of object.
    fn set<T: Copy>(
        &self,
        (call, function): (&str, unsafe extern "C" fn(Opaque, u32, *const c_void, usize) -> Status),
        attribute: u32,
        value: T,
    ) -> Result<(), Failure> {
        let value: *const T = &raw const value;
        // SAFETY: the object is alive, and the value is as long as stated; the library copies it.
        done(call, unsafe { function(self.raw, attribute, value.cast(), size_of::<T>()) })
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: made in `new` and destroyed nowhere else.
        let _ = unsafe { (self.destroy)(self.raw) };
    }
}

/// A product, described.
#[derive(Debug)]
pub struct Description {
    handle: Arc<Handle>,
    product: Owned,
    first: Owned,
    second: Owned,
    result: Owned,
    preference: Owned,
}

impl Description {
    /// `problem` in the types of `kind`, for algorithms that need at most `workspace` bytes.
    ///
    /// # Errors
    /// What the library says.
    pub fn new(
        handle: &Arc<Handle>,
        kind: &Kind,
        problem: &Problem,
        workspace: u64,
    ) -> Result<Self, Failure> {
        let functions = handle.functions();
        let product = Owned::new(
            "cublasLtMatmulDescCreate",
            functions.product_destroy,
            // SAFETY: the pointer is valid for the call.
            |place| unsafe { (functions.product_create)(place, kind.compute, kind.factors) },
        )?;
        let layout = |data_type, matrix| layout(functions, data_type, matrix, problem.batch);
        let preference = Owned::new(
            "cublasLtMatmulPreferenceCreate",
            functions.preference_destroy,
            // SAFETY: the pointer is valid for the call.
            |place| unsafe { (functions.preference_create)(place) },
        )?;
        let description = Description {
            handle: Arc::clone(handle),
            product,
            first: layout(kind.input, &problem.first)?,
            second: layout(kind.input, &problem.second)?,
            result: layout(kind.output, &problem.result)?,
            preference,
        };
        let workspace = usize::try_from(workspace).unwrap_or(usize::MAX);
        let set = ("cublasLtMatmulPreferenceSetAttribute", functions.preference_set);
        description.preference.set(set, attribute::MOST_WORKSPACE, workspace)?;
        for (attribute, matrix) in [
            (attribute::TRANSPOSE_FIRST, problem.first),
            (attribute::TRANSPOSE_SECOND, problem.second),
        ] {
            if matrix.transposed {
                description.set_product(attribute, TRANSPOSE)?;
            }
        }
        Ok(description)
    }

    /// States where the factors of the two operands are, in the GPU's memory.
    ///
    /// # Errors
    /// What the library says.
    pub fn set_scales(&self, first: u64, second: u64) -> Result<(), Failure> {
        self.set_product(attribute::FIRST_SCALE_POINTER, first)?;
        self.set_product(attribute::SECOND_SCALE_POINTER, second)
    }

    fn set_product<T: Copy>(&self, attribute: u32, value: T) -> Result<(), Failure> {
        let function = self.handle.functions().product_set;
        self.product.set(("cublasLtMatmulDescSetAttribute", function), attribute, value)
    }

    /// The handle it was made with.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// The library's own: the product, the two operands, the result.
    pub fn raw(&self) -> [Opaque; 4] {
        [self.product.raw, self.first.raw, self.second.raw, self.result.raw]
    }

    /// What an algorithm may use.
    pub fn preference(&self) -> Opaque {
        self.preference.raw
    }
}

fn layout(
    functions: &'static Functions,
    data_type: u32,
    matrix: &Matrix,
    batch: u64,
) -> Result<Owned, Failure> {
    let too_large = |_| Failure::Device("a matrix has more than 2^63 rows".to_owned());
    let rows = i64::try_from(matrix.rows).map_err(too_large)?;
    let owned = Owned::new(
        "cublasLtMatrixLayoutCreate",
        functions.layout_destroy,
        // SAFETY: the pointer is valid for the call.
        |place| unsafe {
            (functions.layout_create)(place, data_type, matrix.rows, matrix.columns, rows)
        },
    )?;
    if batch > 1 {
        let set = ("cublasLtMatrixLayoutSetAttribute", functions.layout_set);
        let too_many = |_| Failure::Device(format!("{batch} products are too many for one call"));
        owned.set(set, attribute::BATCH_COUNT, i32::try_from(batch).map_err(too_many)?)?;
        owned.set(
            set,
            attribute::BATCH_STRIDE,
            i64::try_from(matrix.stride).unwrap_or(i64::MAX),
        )?;
    }
    Ok(owned)
}
