//! The header of a kernel image, read without a driver.
//!
//! In: the bytes of PTX text or of a cubin. Out: the architecture it is for, and of each entry its
//! parameters and what a launch must keep to. [`check`] holds it against the declaration.

pub mod check;
mod cubin;
mod launch;
mod ptx;
#[cfg(test)]
mod tests;

use std::fmt;

/// What form an image has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text that the driver compiles.
    Ptx,
    /// Code of one architecture.
    Cubin,
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Ptx => "PTX",
            Kind::Cubin => "cubin",
        }
    }
}

/// Which devices an architecture's name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Features {
    /// `sm_90`
    Common,
    /// `sm_100f`: those of its family.
    Family,
    /// `sm_90a`: those of this compute capability only.
    Exact,
}

/// An architecture, `sm_90a`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arch {
    pub major: u32,
    pub minor: u32,
    pub features: Features,
}

impl Arch {
    /// Reads `sm_90`, `sm_90a` or `sm_100f`; the last digit is the minor number.
    pub fn parse(name: &str) -> Option<Arch> {
        let rest = name.strip_prefix("sm_")?;
        let (digits, features) = match rest.strip_suffix(['a', 'f']) {
            Some(d) if rest.ends_with('a') => (d, Features::Exact),
            Some(d) => (d, Features::Family),
            None => (rest, Features::Common),
        };
        if !(2..=4).contains(&digits.len()) || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        Some(Arch::of(digits.parse().ok()?, features))
    }

    fn of(number: u32, features: Features) -> Arch {
        Arch { major: number / 10, minor: number % 10, features }
    }

    /// Whether PTX for this architecture runs on a device of a compute capability.
    pub fn ptx_runs_on(self, (major, minor): (u32, u32)) -> bool {
        match self.features {
            Features::Common => (major, minor) >= (self.major, self.minor),
            Features::Family => major == self.major && minor >= self.minor,
            Features::Exact => (major, minor) == (self.major, self.minor),
        }
    }

    /// Whether code for this architecture runs on a device of a compute capability.
    pub fn cubin_runs_on(self, (major, minor): (u32, u32)) -> bool {
        match self.features {
            Features::Common | Features::Family => major == self.major && minor >= self.minor,
            Features::Exact => (major, minor) == (self.major, self.minor),
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = match self.features {
            Features::Common => "",
            Features::Family => "f",
            Features::Exact => "a",
        };
        write!(f, "sm_{}{}{letter}", self.major, self.minor)
    }
}

/// A parameter of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Bytes from the first parameter's start.
    pub offset: u64,
    pub bytes: u64,
    /// A cubin does not tell.
    pub align: Option<u64>,
    /// The PTX type: `.u64`, `.b8[128]`.
    pub ty: Option<String>,
}

/// A kernel of an image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    pub name: String,
    pub params: Vec<Param>,
    /// `.maxntid`: a block has at most the product of these threads.
    pub max_block: Option<[u32; 3]>,
    /// `.reqntid`: every block has these extents.
    pub block: Option<[u32; 3]>,
    /// `.reqnctapercluster`
    pub cluster: Option<[u32; 3]>,
    /// Bytes of static shared memory, as far as the image tells.
    pub shared: u64,
    /// Registers of a thread; PTX does not tell.
    pub registers: Option<u32>,
    /// Bytes of a thread's stack frame; PTX does not tell.
    pub frame: Option<u64>,
}

/// What the header of an image says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    pub kind: Kind,
    /// The version of the PTX language; none for a cubin.
    pub version: Option<(u32, u32)>,
    /// At least one; a device must suit them all.
    pub archs: Vec<Arch>,
    /// Bits.
    pub address_size: u32,
    pub entries: Vec<Entry>,
}

impl Image {
    /// Reads the header.
    ///
    /// # Errors
    /// The bytes are no image that a driver loads by itself; the error says what else they are.
    pub fn read(bytes: &[u8]) -> Result<Image, ImageError> {
        const FOREIGN: [(&[u8], ImageError); 6] = [
            (b"\x50\xed\x55\xba", ImageError::Fatbin),
            (b"\xb1\x43\x62\x46", ImageError::Fatbin),
            (b"\x1f\x8b", ImageError::Packed("gzip")),
            (b"\x28\xb5\x2f\xfd", ImageError::Packed("zstd")),
            (b"BC\xc0\xde", ImageError::Bitcode),
            (b"!<arch>\n", ImageError::Archive),
        ];
        if bytes.iter().all(|b| b.is_ascii_whitespace() || *b == 0) {
            return Err(ImageError::Empty);
        }
        if let Some((_, e)) = FOREIGN.iter().find(|(magic, _)| bytes.starts_with(magic)) {
            return Err(e.clone());
        }
        if bytes.starts_with(b"\x7fELF") { cubin::read(bytes) } else { ptx::read(bytes) }
    }

    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|e| e.name == name)
    }
}

/// Why bytes are no kernel image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageError {
    Empty,
    Fatbin,
    /// Compressed by this program.
    Packed(&'static str),
    Bitcode,
    Archive,
    /// An ELF file for this machine.
    HostObject(String),
    /// A cubin that must be linked first.
    Relocatable,
    /// A cubin of 32-bit addresses.
    Narrow,
    Neither,
    /// What is broken, and the byte at which it was seen.
    Damaged(Kind, String, usize),
}

impl ImageError {
    /// What to do instead.
    pub fn remedy(&self) -> &'static str {
        match self {
            ImageError::Fatbin => {
                "build one architecture: `nvcc -arch=sm_90a -cubin`, or `-ptx` for text"
            }
            ImageError::Packed(_) => "unpack it",
            ImageError::Bitcode => "compile it to PTX, with `llc -march=nvptx64` for example",
            ImageError::Archive | ImageError::HostObject(_) => {
                "the kernel alone is wanted: `nvcc -arch=sm_90a -cubin`, or `-ptx` for text"
            }
            ImageError::Relocatable => "link it with `nvlink`, or build without `-rdc=true`",
            ImageError::Narrow => "build it with 64-bit addresses",
            ImageError::Empty | ImageError::Neither => {
                "build one: `nvcc -arch=sm_90a -cubin`, or `-ptx` for text"
            }
            ImageError::Damaged(..) => "build it again",
        }
    }
}

impl fmt::Display for ImageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImageError::Empty => f.write_str("it is empty"),
            ImageError::Fatbin => f.write_str("it is a fatbin, which holds several images"),
            ImageError::Packed(by) => write!(f, "it is compressed by {by}"),
            ImageError::Bitcode => f.write_str("it is LLVM bitcode"),
            ImageError::Archive => f.write_str("it is an archive of objects"),
            ImageError::HostObject(m) => write!(f, "it is an ELF file for {m}, not for a GPU"),
            ImageError::Relocatable => f.write_str("it is a cubin that is not linked yet"),
            ImageError::Narrow => f.write_str("it is a cubin of 32-bit addresses"),
            ImageError::Neither => {
                f.write_str("it is neither PTX, which begins with `.version`, nor a cubin")
            }
            ImageError::Damaged(kind, what, at) => {
                write!(f, "the {} is damaged at byte {at}: {what}", kind.as_str())
            }
        }
    }
}

impl std::error::Error for ImageError {}
