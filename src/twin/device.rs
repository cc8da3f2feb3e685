//! One device: its memory, its kernels, and the time that they take.
//!
//! The only user of the driver, and so of `unsafe` here: what a kernel does with the addresses it
//! is given is not checked by anything.

#![allow(unsafe_code)]

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::driver::sys::{self, CUdevice_attribute_enum as Attribute, CUfunction_attribute_enum};
use cudarc::driver::{CudaContext, CudaModule, CudaSlice, CudaStream, DriverError, result};
use cudarc::nvrtc::Ptx;

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

/// Compiled kernels in the device.
pub struct Module(Arc<CudaModule>);

/// One kernel.
pub struct Kernel {
    name: String,
    function: sys::CUfunction,
    // keeps the function alive
    _module: Arc<CudaModule>,
}

/// An argument of a kernel.
#[derive(Clone, Copy)]
pub enum Arg<'a> {
    Buffer(&'a Buffer),
    U32(u32),
}

/// How many positions a launch has.
#[derive(Clone, Copy, Debug)]
pub struct Launch {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory of one block.
    pub shared: u32,
}

impl Launch {
    /// Blocks and threads along one axis.
    pub fn line(blocks: u32, threads: u32) -> Launch {
        Launch { grid: [blocks, 1, 1], block: [threads, 1, 1], shared: 0 }
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

    /// Loads PTX or a cubin.
    ///
    /// # Errors
    /// Code that the driver does not take.
    pub fn load(&self, name: &str, code: &[u8]) -> Result<Module, DeviceError> {
        let image = match std::str::from_utf8(code) {
            Ok(text) => Ptx::from_src(text),
            Err(_) => Ptx::from_binary(code.to_vec()),
        };
        let module = self.context.load_module(image);
        module.map(Module).map_err(failed(format!("loading `{name}`")))
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

    /// Starts a kernel. Dynamic shared memory beyond what is free by default is asked for.
    ///
    /// # Errors
    /// A launch that the driver refuses; what the kernel does wrong shows in [`Device::wait`].
    pub fn launch(&self, k: &Kernel, at: Launch, args: &[Arg]) -> Result<(), DeviceError> {
        let mut words: Vec<u64> = args
            .iter()
            .map(|a| match a {
                Arg::Buffer(b) => b.address,
                Arg::U32(n) => u64::from(*n),
            })
            .collect();
        // a value of 4 bytes stands at the start of its word
        let mut params: Vec<*mut c_void> =
            words.iter_mut().map(|w| std::ptr::from_mut(w).cast()).collect();
        let [x, y, z] = at.grid;
        let [u, v, w] = at.block;
        let bind = self.context.bind_to_thread();
        bind.map_err(failed("binding the device"))?;
        let what = || format!("launching `{}` as {:?} x {:?}", k.name, at.grid, at.block);
        // SAFETY: the words outlive the call, which copies them; the kernel reads as many as it has,
        // which its caller knows
        unsafe {
            if at.shared > 48 * 1024 {
                result::function::set_function_attribute(
                    k.function,
                    CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                    i32::try_from(at.shared).unwrap_or(i32::MAX),
                )
                .map_err(failed(what()))?;
            }
            result::launch_kernel(
                k.function,
                (x, y, z),
                (u, v, w),
                at.shared,
                self.stream.cu_stream(),
                &mut params,
            )
            .map_err(failed(what()))
        }
    }

    /// Waits for all that was started.
    ///
    /// # Errors
    /// What a kernel did wrong.
    pub fn wait(&self) -> Result<(), DeviceError> {
        self.stream.synchronize().map_err(failed("running the kernels"))
    }

    /// Nanoseconds on the device of what `work` starts.
    ///
    /// # Errors
    /// Those of `work`, and what a kernel did wrong.
    pub fn time(&self, work: impl FnOnce() -> Result<(), DeviceError>) -> Result<f64, DeviceError> {
        let timing = Some(sys::CUevent_flags_enum::CU_EVENT_DEFAULT);
        let mark = || self.stream.record_event(timing).map_err(failed("marking a time"));
        let start = mark()?;
        work()?;
        let end = mark()?;
        self.wait()?;
        let ms = start.elapsed_ms(&end).map_err(failed("reading a time"))?;
        Ok(f64::from(ms) * 1e6)
    }
}
