//! Mutations of byte strings, and of entries inside a zip archive.

use std::io::{Cursor, Read, Write};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

/// xorshift64*: the same run for the same seed on every machine.
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Rng {
        Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `n`, 0 when there is none.
    pub fn below(&mut self, n: usize) -> usize {
        if n == 0 { 0 } else { ((self.next() as u128 * n as u128) >> 64) as usize }
    }

    /// A place in `n` bytes, mostly near the ends, where headers are.
    fn place(&mut self, n: usize) -> usize {
        let near = self.below(n.min(400));
        match self.below(4) {
            0 => self.below(n),
            1 => n.saturating_sub(1 + near),
            _ => near,
        }
    }
}

/// Numbers that readers get wrong.
const EDGES: [u64; 14] = [
    0,
    1,
    2,
    0x7f,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    1 << 32,
    1 << 60,
    i64::MAX as u64,
    u64::MAX,
];

/// One to eight mutations of `seed`; splices come from the corpus.
pub fn bytes(rng: &mut Rng, seed: &[u8], corpus: &[Vec<u8>]) -> Vec<u8> {
    let mut out = seed.to_vec();
    for _ in 0..1 << rng.below(4) {
        once(rng, &mut out, corpus);
    }
    out
}

fn once(rng: &mut Rng, out: &mut Vec<u8>, corpus: &[Vec<u8>]) {
    if out.is_empty() {
        out.push(rng.next() as u8);
        return;
    }
    let at = rng.place(out.len());
    match rng.below(10) {
        0 => out[at] ^= 1 << rng.below(8),
        1 | 2 => out[at] = rng.next() as u8,
        // A digit for a digit, so that text stays well formed.
        3 => {
            let digits: Vec<usize> =
                (0..out.len().min(4000)).filter(|&i| out[i].is_ascii_digit()).collect();
            if let Some(&i) = digits.get(rng.below(digits.len())) {
                out[i] = b'0' + rng.below(10) as u8;
            }
        }
        // A length field.
        4 | 5 => {
            let width = 1 << rng.below(4);
            let near = EDGES[rng.below(EDGES.len())].wrapping_add(rng.below(3) as u64);
            let value = if rng.below(2) == 0 { near } else { rng.below(out.len() + 2) as u64 };
            for (to, from) in out[at..].iter_mut().zip(&value.to_le_bytes()[..width]) {
                *to = *from;
            }
        }
        6 => {
            let n = 1 + rng.below(16);
            let new: Vec<u8> = (0..n).map(|_| rng.next() as u8).collect();
            out.splice(at..at, new);
        }
        7 => {
            let end = (at + 1 + rng.below(16)).min(out.len());
            out.drain(at..end);
        }
        // A piece of another input, or of this one.
        8 => {
            let other = corpus.get(rng.below(corpus.len())).map_or(&[][..], Vec::as_slice);
            let from = rng.place(other.len()).min(other.len());
            let to = (from + rng.below(200)).min(other.len());
            let end = (at + rng.below(200)).min(out.len());
            out.splice(at..end, other[from..to].iter().copied());
        }
        _ => {
            let n =
                if rng.below(4) == 0 { at } else { out.len() - 1 - rng.below(out.len().min(64)) };
            out.truncate(n);
        }
    }
}

/// The archive with its entries of this ending mutated, and checksums that fit. `None` if it is
/// no archive.
pub fn inside_zip(rng: &mut Rng, file: &[u8], ending: &str) -> Option<Vec<u8>> {
    let mut archive = ZipArchive::new(Cursor::new(file)).ok()?;
    let mut out = ZipWriter::new(Cursor::new(Vec::new()));
    let mut contents = Vec::new();
    for i in 0..archive.len() {
        let mut entry = archive.by_index(i).ok()?;
        let name = entry.name().ok()?.into_owned();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).ok()?;
        contents.push((name, content));
    }
    let pieces: Vec<Vec<u8>> = contents.iter().map(|c| c.1.clone()).collect();
    let method =
        if rng.below(8) == 0 { CompressionMethod::Deflated } else { CompressionMethod::Stored };
    for (name, content) in contents {
        let content = if name.ends_with(ending) { bytes(rng, &content, &pieces) } else { content };
        let options = SimpleFileOptions::default().compression_method(method);
        out.start_file(name, options).ok()?;
        out.write_all(&content).ok()?;
    }
    Some(out.finish().ok()?.into_inner())
}
