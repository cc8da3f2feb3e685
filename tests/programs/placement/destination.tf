//! What no operand splits takes the split of its destination: the product is split as `acc` is.

// agrees: f = logical
// reveal: acc: f32[64, 64] in rmem[(32 @ t.x, 2), 64]
// reveal: p: f32[64, 64] in rmem[(32 @ t.x, 2), 64]
// reveal: q: f32[64, 64] in rmem[(32 @ t.x, 2), 64]
// reveal: at: bf16[64, 16] in smem
module M {
    target "nvidia.h200_sxm";
    topology cta = 1, thread = 32;

    entry func f(a: bf16[64, 128], b: bf16[128, 64]) -> f32[64, 64] {
        mesh g = cta[r: 1], t = thread[x: 32] {
            let mut acc: f32[64, 64] in rmem[64 @ t.x, 64] = zeros(f32[64, 64]);
            for k in tile(128, 16) {
                let at = reshard(a[.., k], smem);
                let bt = reshard(b[k], smem);
                let p = matmul(at, bt, out = f32);
                let q = p * 2.0;
                acc = acc + q;
            }
            reshard(acc, gmem)
        }
    }

    pub func logical(a: bf16[64, 128], b: bf16[128, 64]) -> f32[64, 64] {
        matmul(a, b, out = f32) * 2.0
    }
}
