//! The primary context of a GPU, and memory in it.

use std::sync::Arc;

use cudarc::driver::{result, sys};
use kernelgauge_data::{Bytes, Failure};

use super::failure::failed;

/// A GPU's primary context, held while this lives.
#[derive(Debug)]
pub struct Context {
    device: sys::CUdevice,
    raw: sys::CUcontext,
}

// SAFETY: the driver lets any thread use a context that it made current, and every entry of
// this crate makes the context current in its own thread first.
unsafe impl Send for Context {}
// SAFETY: as above; the driver's functions may be called from several threads at once.
unsafe impl Sync for Context {}

impl Context {
    /// The primary context of `device`, made current.
    ///
    /// # Errors
    /// What the driver says.
    pub fn retain(device: sys::CUdevice) -> Result<Arc<Self>, Failure> {
        // SAFETY: `device` came from the driver.
        let raw = unsafe { result::primary_ctx::retain(device) };
        let raw = raw.map_err(failed("cuDevicePrimaryCtxRetain"))?;
        let context = Context { device, raw };
        context.make_current()?;
        Ok(Arc::new(context))
    }

    /// Makes it the context of this thread.
    ///
    /// # Errors
    /// What the driver says; a GPU that failed for good says so here.
    pub fn make_current(&self) -> Result<(), Failure> {
        // SAFETY: the context is retained while `self` lives.
        unsafe { result::ctx::set_current(self.raw) }.map_err(failed("cuCtxSetCurrent"))
    }

    /// Memory that is free now.
    ///
    /// # Errors
    /// What the driver says.
    pub fn free_memory(&self) -> Result<Bytes, Failure> {
        self.make_current()?;
        let (free, _) = result::mem_get_info().map_err(failed("cuMemGetInfo"))?;
        Ok(Bytes::new(free as u64))
    }

    /// Lets this context reach the memory of `other` directly, where the GPUs are so linked;
    /// whether it does.
    ///
    /// # Errors
    /// What the driver says.
    pub fn reach(&self, other: &Context) -> Result<bool, Failure> {
        let mut reaches = 0;
        // SAFETY: both devices came from the driver, and the pointer is valid for the call.
        unsafe { sys::cuDeviceCanAccessPeer(&raw mut reaches, self.device, other.device) }
            .result()
            .map_err(failed("cuDeviceCanAccessPeer"))?;
        if reaches == 0 {
            return Ok(false);
        }
        self.make_current()?;
        // SAFETY: the context of the other GPU is retained while `other` lives.
        match unsafe { sys::cuCtxEnablePeerAccess(other.raw, 0) } {
            sys::CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => Ok(true),
            status => {
                status.result().map_err(failed("cuCtxEnablePeerAccess"))?;
                Ok(true)
            }
        }
    }

    pub(super) fn raw(&self) -> sys::CUcontext {
        self.raw
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: retained once in `retain`, released once here.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}
