//! The headers of a cubin: an ELF file of one architecture.
//!
//! What is not public was found by comparing what `ptxas` 12.8 and 13.0 write with what
//! `cuobjdump` prints. Up to ABI 7 the low byte of the flags is the architecture and bit 11 the
//! letter `a`. Since ABI 8 the second byte is the architecture; the letter is bit 3 from 12.8, and
//! from 13.0 a record of `.nv.compat`.

use std::cell::Cell;
use std::collections::HashMap;

use object::LittleEndian;
use object::elf::{self, FileHeader64, SHT_SYMTAB};
use object::read::elf::{FileHeader, SectionHeader, SectionTable, Sym};

use super::{Arch, Entry, Features, Image, ImageError, Kind, Param};

type Header = FileHeader64<LittleEndian>;
const LE: LittleEndian = LittleEndian;

/// The bit of a symbol's `st_other` that marks a kernel.
const STO_CUDA_ENTRY: u8 = 0x10;

/// Attributes of `.nv.info` sections.
mod attr {
    pub const MAX_THREADS: u8 = 0x05;
    pub const REQNTID: u8 = 0x10;
    pub const FRAME_SIZE: u8 = 0x11;
    pub const KPARAM_INFO: u8 = 0x17;
    pub const CBANK_PARAM_SIZE: u8 = 0x19;
    pub const REGCOUNT: u8 = 0x2f;
    pub const CTA_PER_CLUSTER: u8 = 0x3d;
    pub const KPARAM_INFO_V2: u8 = 0x45;
    /// In `.nv.compat`: 1 for code that runs on one compute capability only.
    pub const COMPAT_CLASS: u8 = 0x09;
}

fn damaged(what: impl Into<String>, at: usize) -> ImageError {
    ImageError::Damaged(Kind::Cubin, what.into(), at)
}

/// Reads an ELF file.
pub(super) fn read(bytes: &[u8]) -> Result<Image, ImageError> {
    // in both classes and in either order the machine stands in the same two bytes
    let at = |i: usize| bytes.get(i).copied().ok_or_else(|| damaged("it is cut off", bytes.len()));
    let pair = [at(18)?, at(19)?];
    let machine = if at(5)? == 2 { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) };
    if machine != elf::EM_CUDA.0 {
        return Err(ImageError::HostObject(machine_name(machine)));
    }
    if at(4)? != 2 {
        return Err(ImageError::Narrow);
    }
    let broken = |e: object::read::Error| damaged(e.to_string(), 0);
    let header = Header::parse(bytes).map_err(broken)?;
    if !header.is_little_endian() {
        return Err(damaged("its bytes are in the wrong order", 5));
    }
    if header.e_type(LE) == elf::ET_REL {
        return Err(ImageError::Relocatable);
    }
    let sections = header.sections(LE, bytes).map_err(broken)?;
    let file = File::new(bytes, sections)?;
    let arch = file.arch(header.e_flags(LE).0, at(8)?)?;
    let entries = file.entries(arch)?;
    Ok(Image { kind: Kind::Cubin, version: None, archs: vec![arch], address_size: 64, entries })
}

fn machine_name(machine: u16) -> String {
    match elf::Machine(machine) {
        elf::EM_X86_64 => "x86-64".into(),
        elf::EM_AARCH64 => "AArch64".into(),
        elf::EM_AMDGPU => "an AMD GPU".into(),
        _ => format!("machine {machine}"),
    }
}

struct File<'a> {
    bytes: &'a [u8],
    sections: SectionTable<'a, Header>,
    /// The section of each name.
    named: HashMap<&'a [u8], &'a <Header as FileHeader>::SectionHeader>,
    /// Bytes that may still be looked at: parts that overlap must not cost their product.
    budget: Cell<usize>,
}

/// A record of an `.nv.info` section, with its byte in the file.
struct Record<'a> {
    attr: u8,
    value: &'a [u8],
    at: usize,
}

impl Record<'_> {
    fn half(&self, at: usize) -> Result<u16, ImageError> {
        let b = self.value.get(at..at + 2).and_then(|b| b.try_into().ok());
        b.map(u16::from_le_bytes).ok_or_else(|| self.short())
    }

    fn word(&self, at: usize) -> Result<u32, ImageError> {
        let b = self.value.get(at..at + 4).and_then(|b| b.try_into().ok());
        b.map(u32::from_le_bytes).ok_or_else(|| self.short())
    }

    fn three(&self) -> Result<[u32; 3], ImageError> {
        Ok([self.word(0)?, self.word(4)?, self.word(8)?])
    }

    fn short(&self) -> ImageError {
        damaged(format!("attribute {:#04x} has {} bytes", self.attr, self.value.len()), self.at)
    }
}

impl<'a> File<'a> {
    fn new(bytes: &'a [u8], sections: SectionTable<'a, Header>) -> Result<File<'a>, ImageError> {
        let budget = Cell::new(bytes.len().saturating_mul(16));
        let mut f = File { bytes, sections, named: HashMap::new(), budget };
        for s in f.sections.iter() {
            let name = f.sections.section_name(LE, s).map_err(|e| damaged(e.to_string(), 0))?;
            f.spend(name.len())?;
            f.named.entry(name).or_insert(s);
        }
        Ok(f)
    }

    fn spend(&self, bytes: usize) -> Result<(), ImageError> {
        let left = self.budget.get().checked_sub(bytes);
        self.budget.set(left.ok_or_else(|| damaged("its sections overlap", 0))?);
        Ok(())
    }

    fn section(&self, name: &str) -> Option<&'a <Header as FileHeader>::SectionHeader> {
        self.named.get(name.as_bytes()).copied()
    }

    /// The records of a section; none where it does not exist.
    fn records(&self, name: &str) -> Result<Vec<Record<'a>>, ImageError> {
        let Some(s) = self.section(name) else { return Ok(vec![]) };
        let start = usize::try_from(s.sh_offset(LE)).unwrap_or(usize::MAX);
        let data = s
            .data(LE, self.bytes)
            .map_err(|_| damaged(format!("section `{name}` is cut off"), self.bytes.len()))?;
        self.spend(data.len())?;
        let (mut out, mut i) = (vec![], 0);
        while let Some(&[format, attr, lo, hi]) = data.get(i..i + 4) {
            let at = start.saturating_add(i);
            // 1 has no value, 2 and 3 have it in the record, 4 has its length there
            let (from, len) = match format {
                1 => (i + 4, 0),
                2 | 3 => (i + 2, 2),
                4 => (i + 4, usize::from(u16::from_le_bytes([lo, hi]))),
                _ => return Err(damaged(format!("record of form {format} in `{name}`"), at)),
            };
            let Some(value) = data.get(from..from + len) else {
                return Err(damaged(format!("a record of `{name}` is cut off"), at));
            };
            out.push(Record { attr, value, at });
            i = (from + len).max(i + 4);
        }
        Ok(out)
    }

    fn arch(&self, flags: u32, abi: u8) -> Result<Arch, ImageError> {
        let (number, exact) = match abi {
            0..=7 => (flags & 0xff, flags & 0x800 != 0),
            _ => {
                let class = self.records(".nv.compat")?;
                let exact = class
                    .iter()
                    .any(|r| r.attr == attr::COMPAT_CLASS && r.value.first() == Some(&1));
                ((flags >> 8) & 0xff, exact || flags & 0x8 != 0)
            }
        };
        if number < 20 {
            return Err(damaged(format!("flags {flags:#x} name no architecture"), 48));
        }
        Ok(Arch::of(number, if exact { Features::Exact } else { Features::Common }))
    }

    fn entries(&self, arch: Arch) -> Result<Vec<Entry>, ImageError> {
        let symbols = self
            .sections
            .symbols(LE, self.bytes, SHT_SYMTAB)
            .map_err(|e| damaged(e.to_string(), self.bytes.len()))?;
        // registers and bytes of the stack frame, by symbol
        let (mut registers, mut frames) = (HashMap::new(), HashMap::new());
        for r in self.records(".nv.info")? {
            match r.attr {
                attr::REGCOUNT => drop(registers.insert(r.word(0)?, r.word(4)?)),
                attr::FRAME_SIZE => drop(frames.insert(r.word(0)?, u64::from(r.word(4)?))),
                _ => {}
            }
        }
        let mut out = vec![];
        for (index, s) in symbols.enumerate() {
            if s.st_type() != elf::STT_FUNC || s.st_other().0 & STO_CUDA_ENTRY == 0 {
                continue;
            }
            let name = symbols
                .symbol_name(LE, s)
                .map_err(|e| damaged(format!("symbol {}: {e}", index.0), self.bytes.len()))?;
            self.spend(name.len())?;
            let mut e = self.entry(String::from_utf8_lossy(name).into_owned(), arch)?;
            let symbol = u32::try_from(index.0).unwrap_or(u32::MAX);
            e.registers = registers.get(&symbol).copied();
            e.frame = frames.get(&symbol).copied();
            out.push(e);
        }
        Ok(out)
    }

    fn entry(&self, name: String, arch: Arch) -> Result<Entry, ImageError> {
        let mut e = Entry { name, ..Entry::default() };
        if let Some(s) = self.section(&format!(".nv.shared.{}", e.name)) {
            // from Hopper on the section counts the driver's own bytes of the CTA too
            let own = if arch.major >= 9 { 1024 } else { 0 };
            e.shared = s.sh_size(LE).saturating_sub(own);
        }
        let (mut params, mut bytes) = (vec![], None);
        for r in self.records(&format!(".nv.info.{}", e.name))? {
            match r.attr {
                attr::MAX_THREADS => e.max_block = Some(r.three()?),
                attr::REQNTID => e.block = Some(r.three()?),
                attr::CTA_PER_CLUSTER => e.cluster = Some(r.three()?),
                attr::CBANK_PARAM_SIZE => bytes = Some((u64::from(r.half(0)?), r.at)),
                attr::KPARAM_INFO => {
                    params.push((r.half(4)?, r.half(6)?, u64::from(r.word(8)? >> 18)));
                }
                attr::KPARAM_INFO_V2 => {
                    params.push((r.half(4)?, r.half(6)?, u64::from(r.half(8)?)));
                }
                _ => {}
            }
        }
        params.sort_unstable();
        let first = params.first().map_or(0, |p| u64::from(p.1));
        for (i, (ordinal, offset, bytes)) in params.iter().enumerate() {
            if usize::from(*ordinal) != i {
                let what = format!("`{}` does not list its parameter {i}", e.name);
                return Err(damaged(what, 0));
            }
            let offset = u64::from(*offset).saturating_sub(first);
            e.params.push(Param { offset, bytes: *bytes, align: None, ty: None });
        }
        let end = params.last().map_or(0, |(_, offset, bytes)| u64::from(*offset) + bytes);
        if let Some((bytes, at)) = bytes
            && end != bytes
        {
            let what = format!("the parameters of `{}` end at {end}, not at {bytes}", e.name);
            return Err(damaged(what, at));
        }
        Ok(e)
    }
}
