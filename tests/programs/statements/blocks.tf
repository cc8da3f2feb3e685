//! Block-like expressions as values: a block, a match and a mesh.

const MODE = 2;

module M {
    target "nvidia.h200_sxm";
    topology cta = 4, thread = 128;

    entry func f(x: f32[64]) -> f32[64] {
        let a = {
            let t = x + x;
            t * t
        };
        let b = match MODE {
            0 => a,
            1..=2 => a + 1.0,
            _ => a - 1.0,
        };
        let c = mesh g = cta[r: 4] {
            let s = reshard(b, smem[64 @ g.r]);
            reshard(s + s, gmem)
        };
        c + x
    }
}
