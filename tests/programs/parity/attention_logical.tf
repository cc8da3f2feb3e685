//! Causal attention of 512 queries over 4096 keys. The two products have 68,719,476,736 flops; the
//! Python tool adds 134,217,728 for the cast of the probabilities, which is no flop here, and counts
//! a softmax as one flop an element, here the sum of what it does.
// cost: work.tensor.f16 = 68719476736

const B = 2;
const S = 512;
const C = 4096;
const HQ = 32;
const HKV = 8;
const D = 128;
const G = HQ / HKV;
const SCALE = 1.0 / sqrt(D);

module M {
    target "nvidia.h200_sxm";

    entry func attn(
        q: f16[B, S, HQ, D],
        k: f16[B, C, HKV, D],
        v: f16[B, C, HKV, D],
    ) -> f16[B, S, HQ, D] {
        let qh = transpose(q, [0, 2, 1, 3]);
        let kh = transpose(repeat_interleave(k, G, dim = 2), [0, 2, 3, 1]);
        let vh = transpose(repeat_interleave(v, G, dim = 2), [0, 2, 1, 3]);
        let s = matmul(qh, kh, out = f32) * SCALE;
        let qi = reshape(arange(S, dtype = i32) + (C - S), [1, 1, S, 1]);
        let ki = reshape(arange(C, dtype = i32), [1, 1, 1, C]);
        let masked = where(ki <= qi, s, full_like(s, -1e30));
        let e = exp(masked - max(masked, dim = -1, keepdim = true));
        let p = cast(e / sum(e, dim = -1, keepdim = true), f16);
        transpose(matmul(p, vh), [0, 2, 1, 3])
    }
}
