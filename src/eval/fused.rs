//! Elementwise nodes of a block that run together, a thousand elements at a time.
//!
//! Each node's elements are rounded to its dtype as if it stood alone, so the bits are the same;
//! what passes between the nodes never leaves the nearest cache.

use std::ops::Range;

use half::{bf16, f16};

use crate::base::spread::{CHUNK, map};
use crate::graph::ValueId;
use crate::ops::{Lane, Lanes};
use crate::types::convert as cv;
use crate::types::dtype::DType;
use crate::types::value::{Data, Slice, Tensor};

/// One node of a chain.
pub(super) struct Link {
    pub lanes: Lanes,
    pub inputs: Vec<Operand>,
    pub dtype: DType,
    /// Whether its elements are needed after the chain.
    pub keep: bool,
}

/// Where an operand comes from.
#[derive(Clone, Copy)]
pub(super) enum Operand {
    /// A node before it in the chain.
    Link(usize),
    /// A tensor of as many elements, or of one.
    Outside(usize),
}

/// Nodes of a group that run together.
pub(super) struct Chain {
    /// Their places in the group.
    pub nodes: Range<usize>,
    pub links: Vec<Link>,
    /// What each link makes.
    pub made: Vec<ValueId>,
    /// Operands that no link makes.
    pub outside: Vec<ValueId>,
}

/// Whether nodes of this dtype can be in a chain.
pub(super) fn takes(dtype: DType) -> bool {
    matches!(dtype, DType::F32 | DType::F16 | DType::Bf16)
}

/// The results of the links that are kept, in order; `None` where an operand is not as stated.
pub(super) fn run(chain: &[Link], outside: &[Tensor], shape: &[usize]) -> Option<Vec<Tensor>> {
    let len = shape.iter().product();
    if outside.iter().any(|t| !takes(t.dtype()) || t.len() != len && t.len() != 1) {
        return None;
    }
    let mut decoded: Vec<Vec<f32>> = outside
        .iter()
        .map(|t| match t.dtype() {
            DType::F32 => vec![],
            _ => vec![0.0; CHUNK],
        })
        .collect();
    let mut made: Vec<Vec<f32>> = chain.iter().map(|_| vec![0.0; CHUNK]).collect();
    let mut kept: Vec<Option<Data>> = chain.iter().map(|l| l.keep.then(|| room(l, len))).collect();
    let mut halves = vec![f16::ZERO; CHUNK];
    for at in (0..len).step_by(CHUNK) {
        let n = CHUNK.min(len - at);
        for (t, to) in outside.iter().zip(&mut decoded) {
            match t.data() {
                Slice::F16(v) if v.len() == len => cv::decode_f16(&v[at..at + n], &mut to[..n]),
                Slice::Bf16(v) if v.len() == len => cv::decode_bf16(&v[at..at + n], &mut to[..n]),
                _ => {}
            }
        }
        for (i, link) in chain.iter().enumerate() {
            let (before, rest) = made.split_at_mut(i);
            let o = &mut rest.first_mut()?[..n];
            let lane = |from: &Operand| -> Option<Lane<f32>> {
                Some(match *from {
                    Operand::Link(k) => Lane::Many(&before.get(k)?[..n]),
                    Operand::Outside(k) => match (outside.get(k)?, decoded.get(k)?) {
                        (t, _) if t.len() == 1 => Lane::One(t.get_f64(0) as f32),
                        (t, d) => match t.data() {
                            Slice::F32(v) => Lane::Many(&v[at..at + n]),
                            _ => Lane::Many(&d[..n]),
                        },
                    },
                })
            };
            match (&link.lanes, &link.inputs[..]) {
                (Lanes::One(f), [x]) => match lane(x)? {
                    Lane::Many(x) => f(x, o),
                    Lane::One(x) => f(&[x; CHUNK][..n], o),
                },
                (Lanes::Two(f), [x, y]) => f(lane(x)?, lane(y)?, o),
                _ => return None,
            }
            round(link, o, &mut halves[..n], kept.get_mut(i)?.as_mut());
        }
    }
    let tensors = chain.iter().zip(kept).filter_map(|(l, d)| Some((l, d?)));
    tensors.map(|(l, d)| Tensor::new(l.dtype, shape.to_vec(), d).ok()).collect()
}

fn room(link: &Link, len: usize) -> Data {
    match link.dtype {
        DType::F16 => Data::F16(Vec::with_capacity(len)),
        DType::Bf16 => Data::Bf16(Vec::with_capacity(len)),
        _ => Data::F32(Vec::with_capacity(len)),
    }
}

/// Rounds elements to a link's dtype, and keeps them where they are needed.
fn round(link: &Link, o: &mut [f32], halves: &mut [f16], kept: Option<&mut Data>) {
    match (link.dtype, kept) {
        (DType::F16, Some(Data::F16(v))) => {
            cv::encode_f16(o, halves);
            cv::decode_f16(halves, o);
            v.extend_from_slice(halves);
        }
        (DType::F16, _) => cv::round_f16(o),
        (DType::Bf16, kept) => {
            let mut codes = [bf16::ZERO; CHUNK];
            let codes = &mut codes[..o.len()];
            map(o, codes, cv::bf16_of_f32);
            cv::decode_bf16(codes, o);
            if let Some(Data::Bf16(v)) = kept {
                v.extend_from_slice(codes);
            }
        }
        (_, Some(Data::F32(v))) => v.extend_from_slice(o),
        _ => {}
    }
}
