//! Operands with guards before and behind, at a chosen distance from a 16-byte border.

use std::cell::UnsafeCell;

use bytemuck::Pod;

use crate::emulator::Argument;

/// Bytes of a guard.
const GUARD: usize = 64;
/// What guards hold.
const MARK: u8 = 0xa5;

/// An operand of a kernel.
pub struct Buffer<T> {
    /// Aligned to 16 bytes; kernels write behind Rust's back.
    memory: UnsafeCell<Vec<u128>>,
    begin: usize,
    content: usize,
    element: std::marker::PhantomData<T>,
}

impl<T: Pod> Buffer<T> {
    /// Holds `content`, on a 16-byte border.
    pub fn new(content: &[T]) -> Self {
        Buffer::shifted(content, 0)
    }

    /// Holds `content`, `shift` elements behind a 16-byte border.
    pub fn shifted(content: &[T], shift: usize) -> Self {
        let begin = GUARD + shift * size_of::<T>();
        let bytes = size_of_val(content);
        let mut memory = vec![0_u128; (begin + bytes + GUARD).div_ceil(16)];
        let all: &mut [u8] = bytemuck::cast_slice_mut(&mut memory);
        all.fill(MARK);
        all[begin..begin + bytes].copy_from_slice(bytemuck::cast_slice(content));
        let memory = UnsafeCell::new(memory);
        Buffer { memory, begin, content: bytes, element: std::marker::PhantomData }
    }

    /// As [`Buffer::shifted`], of `length` elements that no kernel would leave.
    pub fn blank(length: usize, shift: usize) -> Self {
        let bytes = vec![0x7f_u8; length * size_of::<T>()];
        Buffer::shifted(&elements(&bytes), shift)
    }

    /// Where the content begins.
    pub fn argument(&self) -> Argument {
        // SAFETY: no reference into the memory is alive between calls of this type, and the
        // begin lies within it.
        Argument::Pointer(unsafe { (*self.memory.get()).as_mut_ptr().byte_add(self.begin) }.cast())
    }

    /// The content, after a look at the guards.
    pub fn content(&self) -> Vec<T> {
        // SAFETY: launches have ended when tests read, and the reference ends here.
        let all: &[u8] = bytemuck::cast_slice(unsafe { &*self.memory.get() });
        let (before, rest) = all.split_at(self.begin);
        let (content, behind) = rest.split_at(self.content);
        assert!(before.iter().all(|byte| *byte == MARK), "written before the operand");
        assert!(behind.iter().all(|byte| *byte == MARK), "written behind the operand");
        elements(content)
    }
}

/// `bytes` as elements, wherever they lie.
fn elements<T: Pod>(bytes: &[u8]) -> Vec<T> {
    let mut elements = vec![T::zeroed(); bytes.len() / size_of::<T>()];
    bytemuck::cast_slice_mut(&mut elements).copy_from_slice(bytes);
    elements
}
