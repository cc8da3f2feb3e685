//! One device: its memory, its kernels, and the time that they take.
//!
//! The only user of the driver, and so of `unsafe` here: what a kernel does with the addresses it
//! is given is not checked by anything.

#![allow(unsafe_code)]

mod launch;
mod stream;

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::driver::sys::{self, CUdevice_attribute_enum as Attribute};
use cudarc::driver::{
    CudaContext, CudaModule, CudaSlice, CudaStream, DriverError, PinnedHostSlice, result,
};
use cudarc::nvrtc::Ptx;

pub use launch::{Arg, Attributes, Launch, MapOf, Ready, TensorMap};
pub use stream::{Mark, Replay};

/// Why the device did not do what it was asked for.
#[derive(Debug)]
pub enum DeviceError {
    /// There is no driver on this machine.
    NoDriver,
    /// The driver finds no device.
    NoDevice(String),
    /// A call failed.
    Failed { what: String, why: String },
}

impl std::fmt::Display for DeviceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DeviceError::NoDriver => {
                f.write_str("this machine has no GPU driver: `libcuda.so` cannot be loaded")
            }
            DeviceError::NoDevice(why) => write!(f, "the driver finds no device: {why}"),
            DeviceError::Failed { what, why } => write!(f, "{what} failed: {why}"),
        }
    }
}

impl std::error::Error for DeviceError {}

fn failed(what: impl Into<String>) -> impl FnOnce(DriverError) -> DeviceError {
    let what = what.into();
    move |e| {
        let text = e.error_string().ok().and_then(|s| s.to_str().ok()).map(str::to_string);
        let name = e.error_name().ok().and_then(|s| s.to_str().ok()).unwrap_or("unknown error");
        DeviceError::Failed { what, why: text.map_or(name.into(), |t| format!("{t} ({name})")) }
    }
}

/// The first device of the driver, with one stream.
pub struct Device {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
}

/// Bytes in the memory of the device.
pub struct Buffer {
    bytes: CudaSlice<u8>,
    address: u64,
}

impl Buffer {
    pub fn address(&self) -> u64 {
        self.address
    }
}

/// Compiled kernels in the device.
pub struct Module(Arc<CudaModule>);

/// One kernel.
pub struct Kernel {
    name: String,
    function: sys::CUfunction,
    // keeps the function alive
    _module: Arc<CudaModule>,
}

/// Memory of the host that the device copies to without a detour.
pub struct Pinned(PinnedHostSlice<u8>);

impl Pinned {
    /// # Errors
    /// A copy into it that failed.
    pub fn bytes(&self) -> Result<&[u8], DeviceError> {
        self.0.as_slice().map_err(failed("reading pinned memory"))
    }
}

impl Device {
    /// # Errors
    /// No driver, no device, or a device that does not start.
    pub fn open() -> Result<Device, DeviceError> {
        // SAFETY: loads the driver's library and unloads it; its initialisers are the driver's own
        if !unsafe { sys::is_culib_present() } {
            return Err(DeviceError::NoDriver);
        }
        let context = CudaContext::new(0).map_err(|e| match failed("opening the device")(e) {
            DeviceError::Failed { why, .. } => DeviceError::NoDevice(why),
            other => other,
        })?;
        // buffers are used on one stream only
        // SAFETY: nothing is shared between streams
        unsafe { context.disable_event_tracking() };
        let stream = context.new_stream().map_err(failed("making a stream"))?;
        Ok(Device { context, stream })
    }

    /// # Errors
    /// Where the driver does not say.
    pub fn name(&self) -> Result<String, DeviceError> {
        self.context.name().map_err(failed("asking for the name"))
    }

    /// Major and minor compute capability.
    ///
    /// # Errors
    /// Where the driver does not say.
    pub fn capability(&self) -> Result<(i32, i32), DeviceError> {
        self.context.compute_capability().map_err(failed("asking for the compute capability"))
    }

    /// The version of the driver's interface: 13000 for 13.0.
    ///
    /// # Errors
    /// Where the driver does not say.
    pub fn driver_version(&self) -> Result<i32, DeviceError> {
        let mut v = 0;
        // SAFETY: writes one integer
        unsafe { sys::cuDriverGetVersion(&mut v) }
            .result()
            .map_err(failed("asking for the version"))?;
        Ok(v)
    }

    fn attribute(&self, a: Attribute) -> Result<u32, DeviceError> {
        let v = self.context.attribute(a).map_err(failed(format!("asking for {a:?}")))?;
        Ok(u32::try_from(v).unwrap_or(0))
    }

    /// # Errors
    /// Where the driver does not say.
    pub fn multiprocessors(&self) -> Result<u32, DeviceError> {
        self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
    }

    /// Bytes.
    ///
    /// # Errors
    /// Where the driver does not say.
    pub fn l2_bytes(&self) -> Result<u32, DeviceError> {
        self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)
    }

    /// Kilohertz of the multiprocessors and of the memory, the most that they run at.
    ///
    /// # Errors
    /// Where the driver does not say.
    pub fn clocks_khz(&self) -> Result<(u32, u32), DeviceError> {
        let sm = self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?;
        Ok((sm, self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)?))
    }

    /// Bytes of memory that are free.
    ///
    /// # Errors
    /// Where the driver does not say.
    pub fn free_bytes(&self) -> Result<usize, DeviceError> {
        self.here()?;
        result::mem_get_info().map(|(free, _)| free).map_err(failed("asking for free memory"))
    }

    /// The context is this thread's.
    fn here(&self) -> Result<(), DeviceError> {
        self.context.bind_to_thread().map_err(failed("binding the device"))
    }

    /// Loads PTX or a cubin.
    ///
    /// # Errors
    /// Code that the driver does not take, with what its compiler says of it.
    pub fn load(&self, name: &str, code: &[u8]) -> Result<Module, DeviceError> {
        // PTX is text up to a zero, whatever its comments are encoded in; a cubin has its length
        let mut bytes = match code.starts_with(b"\x7fELF") {
            true => code.to_vec(),
            false => code.split(|b| *b == 0).next().unwrap_or_default().to_vec(),
        };
        bytes.push(0);
        let image = Ptx::from_binary(bytes);
        let module = self.context.load_module(image);
        module.map(Module).map_err(|e| {
            match (failed(format!("loading `{name}`"))(e), self.log_of(code)) {
                (DeviceError::Failed { what, why }, Some(log)) => {
                    DeviceError::Failed { what, why: format!("{why}\n{log}") }
                }
                (e, _) => e,
            }
        })
    }

    /// What the driver's compiler says of code that it does not take.
    fn log_of(&self, code: &[u8]) -> Option<String> {
        use sys::CUjit_option_enum as Option_;
        self.here().ok()?;
        let mut text = vec![0u8; 8192];
        let mut source = code.to_vec();
        source.push(0);
        let mut options =
            [Option_::CU_JIT_ERROR_LOG_BUFFER, Option_::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        let mut values: [*mut c_void; 2] =
            [text.as_mut_ptr().cast(), std::ptr::without_provenance_mut(text.len())];
        let mut module = std::ptr::null_mut();
        // SAFETY: the buffer is as long as the option says; the source ends with a zero
        unsafe {
            let done = sys::cuModuleLoadDataEx(
                &mut module,
                source.as_ptr().cast(),
                2,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            );
            if done == sys::CUresult::CUDA_SUCCESS {
                let _ = result::module::unload(module);
            }
        }
        let n = text.iter().position(|b| *b == 0).unwrap_or(text.len());
        let log = String::from_utf8_lossy(text.get(..n)?).trim().to_string();
        (!log.is_empty()).then_some(log)
    }

    /// # Errors
    /// A name that the module does not have.
    pub fn kernel(&self, module: &Module, name: &str) -> Result<Kernel, DeviceError> {
        let what = || format!("finding the kernel `{name}`");
        let function = module.0.load_function(name).map_err(failed(what()))?;
        Ok(Kernel {
            name: name.into(),
            function: function.cu_function(),
            _module: module.0.clone(),
        })
    }

    /// # Errors
    /// Too little memory.
    pub fn zeros(&self, bytes: usize) -> Result<Buffer, DeviceError> {
        let what = || format!("taking {bytes} B of memory");
        let slice = self.stream.alloc_zeros::<u8>(bytes.max(1)).map_err(failed(what()))?;
        self.buffer(slice)
    }

    /// # Errors
    /// Too little memory.
    pub fn upload(&self, bytes: &[u8]) -> Result<Buffer, DeviceError> {
        let what = || format!("copying {} B to the device", bytes.len());
        let slice = self.stream.clone_htod(bytes).map_err(failed(what()))?;
        self.buffer(slice)
    }

    fn buffer(&self, bytes: CudaSlice<u8>) -> Result<Buffer, DeviceError> {
        use cudarc::driver::DevicePtr;
        let (address, guard) = bytes.device_ptr(&self.stream);
        drop(guard);
        Ok(Buffer { address, bytes })
    }

    /// # Errors
    /// A launch that failed before.
    pub fn download(&self, b: &Buffer) -> Result<Vec<u8>, DeviceError> {
        let out = self.stream.clone_dtoh(&b.bytes).map_err(failed("copying from the device"))?;
        self.wait()?;
        Ok(out)
    }

    /// Copies bytes to an address of a buffer.
    ///
    /// # Errors
    /// Bytes that reach past the buffer.
    pub fn write(&self, to: &Buffer, offset: usize, bytes: &[u8]) -> Result<(), DeviceError> {
        self.inside(to, offset, bytes.len())?;
        self.here()?;
        // SAFETY: the range lies in the buffer
        unsafe {
            result::memcpy_htod_async(to.address + offset as u64, bytes, self.stream.cu_stream())
        }
        .map_err(failed("copying to the device"))?;
        self.wait()
    }

    /// Copies bytes from an address of a buffer.
    ///
    /// # Errors
    /// A range that reaches past the buffer; what a kernel did wrong.
    pub fn read(&self, from: &Buffer, offset: usize, len: usize) -> Result<Vec<u8>, DeviceError> {
        self.inside(from, offset, len)?;
        self.here()?;
        let mut out = vec![0u8; len];
        // SAFETY: the range lies in the buffer
        unsafe {
            result::memcpy_dtoh_async(
                &mut out,
                from.address + offset as u64,
                self.stream.cu_stream(),
            )
        }
        .map_err(failed("copying from the device"))?;
        self.wait()?;
        Ok(out)
    }

    /// # Errors
    /// Too little memory.
    pub fn pinned(&self, bytes: usize) -> Result<Pinned, DeviceError> {
        let what = || format!("taking {bytes} B of pinned memory");
        // SAFETY: its bytes are set before it is given away
        let mut p = unsafe { self.context.alloc_pinned_with_flags::<u8>(bytes.max(1), 0) }
            .map_err(failed(what()))?;
        p.as_mut_slice().map_err(failed(what()))?.fill(0);
        Ok(Pinned(p))
    }

    /// Fills pinned memory from an address of a buffer.
    ///
    /// # Errors
    /// A range that reaches past the buffer; what a kernel did wrong.
    pub fn read_into(&self, from: &Buffer, at: usize, to: &mut Pinned) -> Result<(), DeviceError> {
        let what = "copying from the device";
        let to = to.0.as_mut_slice().map_err(failed(what))?;
        self.inside(from, at, to.len())?;
        self.here()?;
        // SAFETY: the range lies in the buffer; the copy is waited for below
        unsafe { result::memcpy_dtoh_async(to, from.address + at as u64, self.stream.cu_stream()) }
            .map_err(failed(what))?;
        self.wait()
    }

    fn inside(&self, b: &Buffer, offset: usize, len: usize) -> Result<(), DeviceError> {
        match offset.checked_add(len) {
            Some(end) if end <= b.bytes.len() => Ok(()),
            _ => Err(DeviceError::Failed {
                what: format!("{len} B at {offset}"),
                why: format!("the buffer has {} B", b.bytes.len()),
            }),
        }
    }

    /// Repeats 1, 2 or 4 bytes over a part of a buffer, in the stream.
    ///
    /// # Errors
    /// A range that reaches past the buffer, or another length of the pattern.
    pub fn fill(
        &self,
        to: &Buffer,
        offset: usize,
        len: usize,
        pattern: &[u8],
    ) -> Result<(), DeviceError> {
        self.inside(to, offset, len)?;
        self.here()?;
        let (at, stream) = (to.address + offset as u64, self.stream.cu_stream());
        // SAFETY: the range lies in the buffer
        let done = unsafe {
            match *pattern {
                [a] => sys::cuMemsetD8Async(at, a, len, stream),
                [a, b] => sys::cuMemsetD16Async(at, u16::from_le_bytes([a, b]), len / 2, stream),
                [a, b, c, d] => {
                    sys::cuMemsetD32Async(at, u32::from_le_bytes([a, b, c, d]), len / 4, stream)
                }
                _ => sys::CUresult::CUDA_ERROR_INVALID_VALUE,
            }
        };
        done.result().map_err(failed("filling memory"))
    }

    /// Copies from one buffer to another, in the stream.
    ///
    /// # Errors
    /// A buffer that is too small.
    pub fn copy(&self, from: &Buffer, to: &Buffer, len: usize) -> Result<(), DeviceError> {
        self.inside(from, 0, len)?;
        self.inside(to, 0, len)?;
        self.here()?;
        // SAFETY: both ranges lie in their buffers
        unsafe { result::memcpy_dtod_async(to.address, from.address, len, self.stream.cu_stream()) }
            .map_err(failed("copying within the device"))
    }
}
