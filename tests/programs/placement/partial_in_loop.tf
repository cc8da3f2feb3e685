//! A carried partial starts at its kind's identity and is completed once, after the loop.

// agrees: f = logical
// reveal: acc: f32[4] in rmem partial(sum, t.x)
// reveal: whole: f32[4] in rmem
module M {
    target "nvidia.h200_sxm";
    topology cta = 1, thread = 256;

    entry func f(x: f32[4, 1024]) -> f32[4] {
        mesh g = cta[r: 1], t = thread[x: 256] {
            let mut acc = zeros(f32[4]);
            for k in tile(1024, 256) {
                let s = reshard(x[.., k], rmem[4, 256 @ t.x]);
                acc = acc + sum(s, dim = 1);
            }
            let whole = complete(acc);
            reshard(whole, gmem)
        }
    }

    pub func logical(x: f32[4, 1024]) -> f32[4] {
        sum(x, dim = 1)
    }
}
