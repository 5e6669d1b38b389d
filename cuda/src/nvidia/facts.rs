//! What the driver and the management library say of one GPU.
//!
//! Its UUID goes into the key of its lock, hashed, and nowhere else; its serial number and PCI
//! address go nowhere.

use std::ffi::{CString, c_char, c_int};

use cudarc::driver::{result, sys};
use kernelgauge_data::Failure;
use sha2::{Digest as _, Sha256};

use super::failure::failed;
use super::management::{Handle, Management};

/// Bytes of the hash that tell two GPUs of one machine apart.
const KEY_BYTES: usize = 8;
/// Room for a PCI address (`NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE` is 32).
const BUS: usize = 32;

/// The facts of one GPU.
#[derive(Debug, Clone)]
pub struct Facts {
    /// The driver's handle.
    pub device: sys::CUdevice,
    /// Such as `NVIDIA H200`.
    pub name: String,
    /// Key of its lock.
    pub lock_key: String,
    /// Compute capability.
    pub compute: (u32, u32),
    /// Streaming multiprocessors.
    pub units: u32,
    /// Second-level cache.
    pub l2_bytes: u64,
    /// Memory.
    pub memory_bytes: u64,
    /// Width of the memory bus in bits.
    pub bus_bits: Option<u32>,
    /// Whether errors in memory are corrected.
    pub ecc: bool,
    /// Highest clocks in MHz.
    pub max_sm_clock: Option<u32>,
    /// The same of the memory.
    pub max_memory_clock: Option<u32>,
    /// Power limit in milliwatts.
    pub power_limit_mw: Option<u32>,
    /// Whether it is divided into instances.
    pub divided: Option<bool>,
    /// The management library and its handle.
    pub management: Option<(&'static Management, Handle)>,
}

impl Facts {
    /// The facts of the GPU the driver counts as `ordinal`.
    ///
    /// # Errors
    /// What the driver says.
    pub fn read(ordinal: u32) -> Result<Self, Failure> {
        use sys::CUdevice_attribute as A;
        let ordinal = c_int::try_from(ordinal).unwrap_or(c_int::MAX);
        let device = result::device::get(ordinal).map_err(failed("cuDeviceGet"))?;
        let name = result::device::get_name(device).map_err(failed("cuDeviceGetName"))?;
        let number = |attribute| attribute_of(device, attribute);
        // SAFETY: `device` came from the driver.
        let memory = unsafe { result::device::total_mem(device) };
        let management = Management::open().and_then(|library| {
            let gpu = library.gpu(&bus_address(device)?)?;
            Some((library, gpu))
        });
        let khz = |attribute| number(attribute).ok().map(|khz| khz / 1000).filter(|mhz| *mhz > 0);
        Ok(Facts {
            device,
            name: name.trim_end_matches('\0').to_owned(),
            lock_key: lock_key(device)?,
            compute: (
                number(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
                number(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
            ),
            units: number(A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            l2_bytes: u64::from(number(A::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?),
            memory_bytes: memory.map_err(failed("cuDeviceTotalMem"))? as u64,
            bus_bits: number(A::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH).ok(),
            ecc: number(A::CU_DEVICE_ATTRIBUTE_ECC_ENABLED).unwrap_or(0) != 0,
            max_sm_clock: management
                .and_then(|(library, gpu)| library.max_sm_clock(gpu))
                .or_else(|| khz(A::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)),
            max_memory_clock: management
                .and_then(|(library, gpu)| library.max_memory_clock(gpu))
                .or_else(|| khz(A::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)),
            power_limit_mw: management.and_then(|(library, gpu)| library.power_limit_mw(gpu)),
            divided: management.and_then(|(library, gpu)| library.is_divided(gpu)),
            management,
        })
    }
}

/// An attribute that is a number and never negative.
fn attribute_of(device: sys::CUdevice, attribute: sys::CUdevice_attribute) -> Result<u32, Failure> {
    // SAFETY: `device` came from the driver.
    let value = unsafe { result::device::get_attribute(device, attribute) };
    Ok(u32::try_from(value.map_err(failed("cuDeviceGetAttribute"))?).unwrap_or(0))
}

/// `gpu-` and the beginning of a hash of the UUID: the same for every process, and no way back.
fn lock_key(device: sys::CUdevice) -> Result<String, Failure> {
    let mut uuid = sys::CUuuid { bytes: [0; 16] };
    // SAFETY: `device` came from the driver, and the pointer is valid for the call.
    unsafe { sys::cuDeviceGetUuid_v2(&raw mut uuid, device) }
        .result()
        .map_err(failed("cuDeviceGetUuid"))?;
    let hash = Sha256::digest(uuid.bytes.map(|byte| byte as u8));
    let words: String = hash.iter().take(KEY_BYTES).map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("gpu-{words}"))
}

fn bus_address(device: sys::CUdevice) -> Option<CString> {
    let mut text = [0 as c_char; BUS];
    // SAFETY: `device` came from the driver, and the buffer is as long as stated.
    let status = unsafe { sys::cuDeviceGetPCIBusId(text.as_mut_ptr(), BUS as c_int - 1, device) };
    status.result().ok()?;
    let bytes: Vec<u8> = text.iter().map(|byte| *byte as u8).take_while(|b| *b != 0).collect();
    CString::new(bytes).ok()
}
