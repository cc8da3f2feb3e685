//! Launches: a kernel, its arguments and its shape, made ready once and started with one call.

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::driver::sys::{self, CUfunction_attribute_enum};
use cudarc::driver::{CudaModule, result};

use super::{Buffer, Device, DeviceError, Kernel, failed};
use crate::types::dtype::DType;

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
}
