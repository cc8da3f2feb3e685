//! One device: its memory, its kernels, and the time that they take.
//!
//! The only user of the driver, and so of `unsafe` here: what a kernel does with the addresses it
//! is given is not checked by anything.

#![allow(unsafe_code)]

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::driver::sys::{self, CUdevice_attribute_enum as Attribute, CUfunction_attribute_enum};
use cudarc::driver::{
    CudaContext, CudaEvent, CudaModule, CudaSlice, CudaStream, DriverError, PinnedHostSlice, result,
};
use cudarc::nvrtc::Ptx;

use crate::types::dtype::DType;

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

/// An argument of a kernel.
#[derive(Clone, Copy)]
pub enum Arg<'a> {
    Buffer(&'a Buffer),
    U32(u32),
    /// An address of the device.
    Address(u64),
    /// A scalar of at most 8 bytes.
    Scalar(&'a [u8]),
    Map(&'a TensorMap),
}

/// A tensor map as the driver encoded it.
#[derive(Clone, Copy)]
pub struct TensorMap(sys::CUtensorMap);

/// What a tensor map is of; extents and box in logical order, the last innermost.
#[derive(Clone, Copy, Debug)]
pub struct MapOf<'a> {
    pub address: u64,
    pub dtype: DType,
    pub extents: &'a [u64],
    pub tile: &'a [u32],
    /// Bytes; 0 for none.
    pub swizzle: u32,
}

/// How many positions a launch has.
#[derive(Clone, Copy, Debug)]
pub struct Launch {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub cluster: Option<[u32; 3]>,
    /// Bytes of dynamic shared memory of one block.
    pub shared: u32,
    /// All blocks are resident at once and may wait for each other.
    pub cooperative: bool,
}

impl Launch {
    /// Blocks and threads along one axis.
    pub fn line(blocks: u32, threads: u32) -> Launch {
        Launch {
            grid: [blocks, 1, 1],
            block: [threads, 1, 1],
            cluster: None,
            shared: 0,
            cooperative: false,
        }
    }
}

/// The bytes of one argument; the driver copies as many as the kernel's parameter has.
#[repr(C, align(128))]
#[derive(Clone, Copy)]
struct Slot([u64; 16]);

/// A launch that is ready: starting it is one call of the driver.
pub struct Ready {
    shown: String,
    function: sys::CUfunction,
    config: sys::CUlaunchConfig,
    // the config and the pointers lead into these
    _attributes: Box<[sys::CUlaunchAttribute]>,
    _slots: Box<[Slot]>,
    pointers: Vec<*mut c_void>,
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

/// A point of time on the device.
pub struct Mark(CudaEvent);

/// A graph that was captured and can be replayed.
pub struct Replay {
    exec: sys::CUgraphExec,
    graph: sys::CUgraph,
}

impl Drop for Replay {
    fn drop(&mut self) {
        // SAFETY: both were made by this type's maker and are destroyed once
        unsafe {
            let _ = result::graph::exec_destroy(self.exec);
            let _ = result::graph::destroy(self.graph);
        }
    }
}

/// What the driver says of a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    pub registers: u32,
    pub local: u32,
    pub static_shared: u32,
    pub most_threads: u32,
    pub binary: u32,
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

    /// Encodes a tensor map.
    ///
    /// # Errors
    /// What the driver's rules do not allow: addresses and strides of whole 16 bytes, boxes of at
    /// most 256 an axis and as wide as the swizzle at most.
    pub fn tensor_map(&self, m: &MapOf) -> Result<TensorMap, DeviceError> {
        use sys::CUtensorMapDataType_enum as T;
        let rank = m.extents.len();
        let bad = |why: String| DeviceError::Failed { what: "encoding a tensor map".into(), why };
        let dtype = match m.dtype {
            DType::F64 => T::CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
            DType::F32 => T::CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
            DType::Tf32 => T::CU_TENSOR_MAP_DATA_TYPE_TFLOAT32,
            DType::F16 => T::CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
            DType::Bf16 => T::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
            DType::I64 => T::CU_TENSOR_MAP_DATA_TYPE_INT64,
            DType::U64 => T::CU_TENSOR_MAP_DATA_TYPE_UINT64,
            DType::I32 => T::CU_TENSOR_MAP_DATA_TYPE_INT32,
            DType::U32 => T::CU_TENSOR_MAP_DATA_TYPE_UINT32,
            DType::I16 => T::CU_TENSOR_MAP_DATA_TYPE_UINT16,
            DType::F4e2m1 => return Err(bad("f4e2m1 has no tensor map here".into())),
            _ => T::CU_TENSOR_MAP_DATA_TYPE_UINT8,
        };
        let swizzle = match m.swizzle {
            0 => sys::CUtensorMapSwizzle_enum::CU_TENSOR_MAP_SWIZZLE_NONE,
            32 => sys::CUtensorMapSwizzle_enum::CU_TENSOR_MAP_SWIZZLE_32B,
            64 => sys::CUtensorMapSwizzle_enum::CU_TENSOR_MAP_SWIZZLE_64B,
            128 => sys::CUtensorMapSwizzle_enum::CU_TENSOR_MAP_SWIZZLE_128B,
            n => return Err(bad(format!("a swizzle of {n} B"))),
        };
        // the driver's axes start with the innermost
        let dims: Vec<u64> = m.extents.iter().rev().copied().collect();
        let tile: Vec<u32> = m.tile.iter().rev().copied().collect();
        let width = m.dtype.bits() / 8;
        let mut strides = vec![];
        let mut bytes = width;
        for d in dims.iter().take(rank.saturating_sub(1)) {
            bytes = bytes.saturating_mul(*d);
            strides.push(bytes);
        }
        // the driver reads a stride even where there is none
        strides.push(bytes);
        let ones = vec![1u32; rank];
        let mut map = sys::CUtensorMap { opaque: [0; 16] };
        self.here()?;
        // SAFETY: every array has `rank` entries, the strides one less
        let done = unsafe {
            sys::cuTensorMapEncodeTiled(
                &mut map,
                dtype,
                u32::try_from(rank).unwrap_or(u32::MAX),
                std::ptr::without_provenance_mut(m.address as usize),
                dims.as_ptr(),
                strides.as_ptr(),
                tile.as_ptr(),
                ones.as_ptr(),
                sys::CUtensorMapInterleave_enum::CU_TENSOR_MAP_INTERLEAVE_NONE,
                swizzle,
                sys::CUtensorMapL2promotion_enum::CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                sys::CUtensorMapFloatOOBfill_enum::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
            )
        };
        done.result().map_err(|e| match failed("")(e) {
            DeviceError::Failed { why, .. } => bad(format!(
                "{why}: {}{:?}, box {:?}, swizzle {} B; the last axis of the box takes whole 16 B, at \
                 most the swizzle, and rows start at multiples of 16 B",
                m.dtype, m.extents, m.tile, m.swizzle
            )),
            e => e,
        })?;
        Ok(TensorMap(map))
    }

    /// What the driver says of a kernel.
    ///
    /// # Errors
    /// Where it does not say.
    pub fn attributes(&self, k: &Kernel) -> Result<Attributes, DeviceError> {
        use CUfunction_attribute_enum as A;
        let get = |a| {
            // SAFETY: the function lives as long as its module
            let v = unsafe { result::function::get_function_attribute(k.function, a) };
            let v = v.map_err(failed(format!("asking about `{}`", k.name)))?;
            Ok(u32::try_from(v).unwrap_or(0))
        };
        self.here()?;
        Ok(Attributes {
            registers: get(A::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            local: get(A::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
            static_shared: get(A::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
            most_threads: get(A::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            binary: get(A::CU_FUNC_ATTRIBUTE_BINARY_VERSION)?,
        })
    }

    /// Blocks that are resident on one multiprocessor, and clusters on the device.
    ///
    /// # Errors
    /// A launch that does not fit.
    pub fn resident(&self, r: &Ready) -> Result<(u32, Option<u32>), DeviceError> {
        self.here()?;
        let c = &r.config;
        let threads =
            [c.blockDimX, c.blockDimY, c.blockDimZ].iter().fold(1u32, |n, x| n.saturating_mul(*x));
        let what = || format!("asking how much of {} is resident", r.shown);
        let (mut blocks, mut clusters) = (0, 0);
        // SAFETY: the function and the config live in `r`
        unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &mut blocks,
                r.function,
                i32::try_from(threads).unwrap_or(i32::MAX),
                c.sharedMemBytes as usize,
            )
            .result()
            .map_err(failed(what()))?;
            let clustered = r._attributes.iter().any(|a| {
                a.id == sys::CUlaunchAttributeID_enum::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
            });
            if !clustered {
                return Ok((u32::try_from(blocks).unwrap_or(0), None));
            }
            sys::cuOccupancyMaxActiveClusters(&mut clusters, r.function, c)
                .result()
                .map_err(failed(what()))?;
        }
        Ok((u32::try_from(blocks).unwrap_or(0), u32::try_from(clusters).ok()))
    }

    /// Makes a launch ready. Dynamic shared memory beyond what is free by default is asked for.
    ///
    /// # Errors
    /// More shared memory than a block may have, or a cluster that the device does not form.
    pub fn ready(&self, k: &Kernel, at: Launch, args: &[Arg]) -> Result<Ready, DeviceError> {
        let mut slots: Box<[Slot]> = args
            .iter()
            .map(|a| {
                let mut words = [0u64; 16];
                match a {
                    Arg::Buffer(b) => words[0] = b.address,
                    Arg::Address(n) => words[0] = *n,
                    // a value of fewer bytes stands at the start of its word
                    Arg::U32(n) => words[0] = u64::from(*n),
                    Arg::Scalar(bytes) => {
                        let mut w = [0u8; 8];
                        for (to, from) in w.iter_mut().zip(*bytes) {
                            *to = *from;
                        }
                        words[0] = u64::from_le_bytes(w);
                    }
                    Arg::Map(m) => words = m.0.opaque,
                }
                Slot(words)
            })
            .collect();
        let pointers: Vec<*mut c_void> =
            slots.iter_mut().map(|w| std::ptr::from_mut(w).cast()).collect();
        self.here()?;
        let shown = format!("`{}` as {:?} x {:?}", k.name, at.grid, at.block);
        let what = || format!("launching {shown}");
        let set = |a, v: u32| {
            let v = i32::try_from(v).unwrap_or(i32::MAX);
            // SAFETY: the function lives as long as its module
            unsafe { result::function::set_function_attribute(k.function, a, v) }
                .map_err(failed(what()))
        };
        use CUfunction_attribute_enum as A;
        let most = A::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the function lives as long as its module
        let now = unsafe { result::function::get_function_attribute(k.function, most) };
        let now = now.map_err(failed(what()))?;
        // one function may have several launches: the limit only rises
        if i64::from(at.shared) > i64::from(now) {
            set(most, at.shared)?;
        }
        if at.cluster.is_some_and(|c| c.iter().map(|n| u64::from(*n)).product::<u64>() > 8) {
            set(A::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1)?;
        }
        use sys::CUlaunchAttributeID_enum as Id;
        let mut attributes = vec![];
        let mut attribute = |id, value| {
            attributes.push(sys::CUlaunchAttribute { id, pad: [0; 4], value });
        };
        if at.cooperative {
            attribute(
                Id::CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
                sys::CUlaunchAttributeValue { cooperative: 1 },
            );
        }
        if let Some([x, y, z]) = at.cluster {
            let cluster = sys::CUlaunchAttributeValue_union__bindgen_ty_1 { x, y, z };
            attribute(
                Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                sys::CUlaunchAttributeValue { clusterDim: cluster },
            );
        }
        let mut attributes = attributes.into_boxed_slice();
        let [x, y, z] = at.grid;
        let [u, v, w] = at.block;
        let config = sys::CUlaunchConfig {
            gridDimX: x,
            gridDimY: y,
            gridDimZ: z,
            blockDimX: u,
            blockDimY: v,
            blockDimZ: w,
            sharedMemBytes: at.shared,
            hStream: self.stream.cu_stream(),
            attrs: attributes.as_mut_ptr(),
            numAttrs: u32::try_from(attributes.len()).unwrap_or(0),
        };
        Ok(Ready {
            shown,
            function: k.function,
            config,
            _attributes: attributes,
            _slots: slots,
            pointers,
            _module: k._module.clone(),
        })
    }

    /// Starts a launch.
    ///
    /// # Errors
    /// A launch that the driver refuses; what the kernel does wrong shows in [`Device::wait`].
    pub fn start(&self, r: &Ready) -> Result<(), DeviceError> {
        // SAFETY: the pointers lead to slots that `r` holds, which the call copies and does not
        // write; the kernel has as many parameters as there are slots, which its caller knows
        let done = unsafe {
            let pointers = r.pointers.as_ptr().cast_mut();
            sys::cuLaunchKernelEx(&r.config, r.function, pointers, std::ptr::null_mut())
        };
        done.result().map_err(|e| failed(format!("launching {}", r.shown))(e))
    }

    /// Starts a kernel once.
    ///
    /// # Errors
    /// Those of [`Device::ready`] and [`Device::start`].
    pub fn launch(&self, k: &Kernel, at: Launch, args: &[Arg]) -> Result<(), DeviceError> {
        let ready = self.ready(k, at, args)?;
        self.start(&ready)
    }

    /// Captures what `work` starts as a graph.
    ///
    /// # Errors
    /// Those of `work`, and what cannot be captured.
    pub fn capture(
        &self,
        work: impl FnOnce() -> Result<(), DeviceError>,
    ) -> Result<Replay, DeviceError> {
        self.here()?;
        let stream = self.stream.cu_stream();
        let mode = sys::CUstreamCaptureMode_enum::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream lives as long as the device; what is captured is ended in any case
        unsafe {
            result::stream::begin_capture(stream, mode).map_err(failed("capturing a graph"))?;
            let worked = work();
            let graph = result::stream::end_capture(stream).map_err(failed("capturing a graph"));
            let graph = match (worked, graph) {
                (Ok(()), Ok(g)) => g,
                (worked, graph) => {
                    if let Ok(g) = graph {
                        let _ = result::graph::destroy(g);
                    }
                    worked?;
                    return Err(DeviceError::Failed {
                        what: "capturing a graph".into(),
                        why: "the driver ended it".into(),
                    });
                }
            };
            let mut exec = std::ptr::null_mut();
            let made = sys::cuGraphInstantiateWithFlags(&mut exec, graph, 0).result();
            if let Err(e) = made {
                let _ = result::graph::destroy(graph);
                return Err(failed("making a graph ready")(e));
            }
            Ok(Replay { exec, graph })
        }
    }

    /// Replays a graph.
    ///
    /// # Errors
    /// Where the driver refuses.
    pub fn replay(&self, r: &Replay) -> Result<(), DeviceError> {
        // SAFETY: the graph lives in `r`
        unsafe { result::graph::launch(r.exec, self.stream.cu_stream()) }
            .map_err(failed("replaying a graph"))
    }

    /// Waits for all that was started.
    ///
    /// # Errors
    /// What a kernel did wrong.
    pub fn wait(&self) -> Result<(), DeviceError> {
        self.stream.synchronize().map_err(failed("running the kernels"))
    }

    /// A point of time in the stream.
    ///
    /// # Errors
    /// Where the driver refuses.
    pub fn mark(&self) -> Result<Mark, DeviceError> {
        let timing = Some(sys::CUevent_flags_enum::CU_EVENT_DEFAULT);
        self.stream.record_event(timing).map(Mark).map_err(failed("marking a time"))
    }

    /// Nanoseconds on the device between two marks that were waited for.
    ///
    /// # Errors
    /// A mark that the device has not come to.
    pub fn between(&self, start: &Mark, end: &Mark) -> Result<f64, DeviceError> {
        let ms = start.0.elapsed_ms(&end.0).map_err(failed("reading a time"))?;
        Ok(f64::from(ms) * 1e6)
    }

    /// Nanoseconds on the device of what `work` starts.
    ///
    /// # Errors
    /// Those of `work`, and what a kernel did wrong.
    pub fn time(&self, work: impl FnOnce() -> Result<(), DeviceError>) -> Result<f64, DeviceError> {
        let start = self.mark()?;
        work()?;
        let end = self.mark()?;
        self.wait()?;
        self.between(&start, &end)
    }
}
