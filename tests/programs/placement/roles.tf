//! Roles: one warpgroup fetches tiles through a ring for two that multiply.

// agrees: f = logical
const M = 128;
const N = 64;
const K = 256;
const BK = 64;

// reveal: at: bf16[128, 64] in smem swizzle(3, 4, 3)
// reveal: acc: f32[128, 64] in rmem[(2 @ mma.w, 64), 64]
module M1 {
    target "nvidia.h200_sxm";
    topology cta = 1, warpgroup = 3, thread = 128;

    entry func f(a: bf16[M, K], b: bf16[N, K]) -> bf16[M, N] {
        mesh g = cta[p: 1], wg = warpgroup[w: 3], load = wg[0..1], mma = wg[1..3] {
            let mut acc: f32[M, N] in rmem[M @ mma.w, N] = zeros(f32[M, N]);
            for k in tile(K, BK) {
                #[via(tma), buffers(3), regs(40)]
                let (at, bt) = on load {
                    (
                        reshard(a[.., k], smem swizzle(3, 4, 3)),
                        reshard(b[.., k], smem swizzle(3, 4, 3)),
                    )
                };
                #[atom(wgmma, n = 64), regs(232)]
                on mma {
                    acc = acc + matmul(at, bt, transpose_b = true, out = f32);
                }
            }
            reshard(cast(acc, bf16), gmem)
        }
    }

    pub func logical(a: bf16[M, K], b: bf16[N, K]) -> bf16[M, N] {
        matmul(a, b, transpose_b = true)
    }
}
