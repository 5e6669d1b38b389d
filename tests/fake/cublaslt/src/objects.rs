//! Handles, descriptors, layouts and preferences: boxes of attributes.

use std::collections::BTreeMap;
use std::ffi::c_void;

use crate::work::has_context;
use crate::{DONE, INVALID_VALUE, NOT_INITIALIZED, Status};

/// An object of the library: what it was made with, and its attributes.
#[derive(Debug, Default)]
pub struct Object {
    /// A descriptor: compute type and type of the factors. A layout: type of the elements.
    pub types: [u32; 2],
    /// A layout: rows, columns, elements from column to column.
    pub shape: [u64; 3],
    attributes: BTreeMap<u32, [u8; 8]>,
}

impl Object {
    /// The attribute with this number; 0 where it was not set.
    pub fn attribute(&self, number: u32) -> u64 {
        self.attributes.get(&number).map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }
}

fn give(place: Option<&mut *mut Object>, object: Object) -> Status {
    match place {
        Some(place) => {
            *place = Box::into_raw(Box::new(object));
            DONE
        }
        None => INVALID_VALUE,
    }
}

fn take(object: *mut Object) -> Status {
    if object.is_null() {
        return INVALID_VALUE;
    }
    // SAFETY: the caller passes what `give` gave it, once.
    drop(unsafe { Box::from_raw(object) });
    DONE
}

/// The attributes of a kind of object that are known here, by number, with the bytes of their
/// values (cublasLt.h); another size is refused, as by NVIDIA's library.
type Sizes = &'static [(u32, usize)];
/// Transposition of the operands, and where their factors are.
const PRODUCT: Sizes = &[(3, 4), (4, 4), (17, 8), (18, 8)];
/// Products of a batch, and elements from one to the next.
const LAYOUT: Sizes = &[(5, 4), (6, 8)];
/// The most workspace.
const PREFERENCE: Sizes = &[(1, 8)];

fn set(
    object: Option<&mut Object>,
    sizes: Sizes,
    number: u32,
    value: *const c_void,
    bytes: usize,
) -> Status {
    let known = sizes.contains(&(number, bytes));
    let Some(object) = object.filter(|_| !value.is_null() && known) else {
        return INVALID_VALUE;
    };
    let mut whole = [0; 8];
    // SAFETY: the caller states that so many bytes may be read, and there is room for them.
    unsafe { std::ptr::copy_nonoverlapping(value.cast(), whole.as_mut_ptr(), bytes) };
    object.attributes.insert(number, whole);
    DONE
}

#[unsafe(no_mangle)]
extern "C" fn cublasLtGetVersion() -> usize {
    130_002
}

#[unsafe(no_mangle)]
extern "C" fn cublasLtCreate(handle: Option<&mut *mut Object>) -> Status {
    if !has_context() {
        return NOT_INITIALIZED;
    }
    give(handle, Object::default())
}

#[unsafe(no_mangle)]
extern "C" fn cublasLtDestroy(handle: *mut Object) -> Status {
    take(handle)
}

#[unsafe(no_mangle)]
extern "C" fn cublasLtMatmulDescCreate(
    product: Option<&mut *mut Object>,
    compute: u32,
    factors: u32,
) -> Status {
    give(product, Object { types: [compute, factors], ..Object::default() })
}

#[unsafe(no_mangle)]
extern "C" fn cublasLtMatmulDescDestroy(product: *mut Object) -> Status {
    take(product)
}

#[unsafe(no_mangle)]
extern "C" fn cublasLtMatmulDescSetAttribute(
    product: Option<&mut Object>,
    number: u32,
    value: *const c_void,
    bytes: usize,
) -> Status {
    set(product, PRODUCT, number, value, bytes)
}

#[unsafe(no_mangle)]
extern "C" fn cublasLtMatrixLayoutCreate(
    layout: Option<&mut *mut Object>,
    data_type: u32,
    rows: u64,
    columns: u64,
    leading: i64,
) -> Status {
    let Ok(leading) = u64::try_from(leading) else { return INVALID_VALUE };
    if leading < rows {
        return INVALID_VALUE;
    }
    let shape = [rows, columns, leading];
    give(layout, Object { types: [data_type, 0], shape, ..Object::default() })
}

#[unsafe(no_mangle)]
extern "C" fn cublasLtMatrixLayoutDestroy(layout: *mut Object) -> Status {
    take(layout)
}

#[unsafe(no_mangle)]
extern "C" fn cublasLtMatrixLayoutSetAttribute(
    layout: Option<&mut Object>,
    number: u32,
    value: *const c_void,
    bytes: usize,
) -> Status {
    set(layout, LAYOUT, number, value, bytes)
}

#[unsafe(no_mangle)]
extern "C" fn cublasLtMatmulPreferenceCreate(preference: Option<&mut *mut Object>) -> Status {
    give(preference, Object::default())
}

#[unsafe(no_mangle)]
extern "C" fn cublasLtMatmulPreferenceDestroy(preference: *mut Object) -> Status {
    take(preference)
}

#[unsafe(no_mangle)]
extern "C" fn cublasLtMatmulPreferenceSetAttribute(
    preference: Option<&mut Object>,
    number: u32,
    value: *const c_void,
    bytes: usize,
) -> Status {
    set(preference, PREFERENCE, number, value, bytes)
}
