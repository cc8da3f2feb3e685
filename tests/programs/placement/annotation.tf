//! An annotation places a result that nothing else places, and asserts the others.

// reveal: z: f32[64] in rmem[(32 @ t.x, 2)]
// reveal: s: f32[64] in smem
module M {
    target "nvidia.h200_sxm";
    topology cta = 1, thread = 32;

    entry func f(x: f32[64]) -> f32[64] {
        mesh g = cta[r: 1], t = thread[x: 32] {
            let z: f32[64] in rmem[64 @ t.x] = zeros(f32[64]);
            let s: f32[64] in smem = reshard(x, smem);
            let total: f32 in rmem partial(sum, t.x) = sum(z, dim = 0);
            reshard(z + s + complete(total), gmem)
        }
    }
}
