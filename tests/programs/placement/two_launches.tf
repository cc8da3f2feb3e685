//! Each outermost mesh over CTAs is one launch; `#[fuse]` makes the blocks of a function one.

// agrees: two = logical
// agrees: one = logical
// reveal: two.a: f32[64] in gmem
// reveal: one.a: f32[64] in gmem
module M {
    target "nvidia.h200_sxm";
    topology cta = 8, thread = 128;

    entry func two(x: f32[64]) -> f32[64] {
        let a = mesh g = cta[r: 8] {
            let s = reshard(x, smem[64 @ g.r]);
            reshard(s + s, gmem)
        };
        mesh g = cta[r: 4] {
            let s = reshard(a, smem[64 @ g.r]);
            reshard(s * s, gmem)
        }
    }

    #[fuse]
    pub func one(x: f32[64]) -> f32[64] {
        let a = mesh g = cta[r: 8] {
            let s = reshard(x, smem[64 @ g.r]);
            reshard(s + s, gmem)
        };
        mesh g = cta[r: 4] {
            let s = reshard(a, smem[64 @ g.r]);
            reshard(s * s, gmem)
        }
    }

    pub func logical(x: f32[64]) -> f32[64] {
        square(x + x)
    }
}
