//! A carried maximum may start anywhere: taking it 256 times changes nothing.

// agrees: f = logical
// reveal: m: f32[4] in rmem partial(max, t.x)
// reveal: low: f32[4] in rmem partial(min, t.x)
module M {
    target "nvidia.h200_sxm";
    topology cta = 1, thread = 256;

    entry func f(x: f32[4, 1024]) -> (f32[4], f32[4]) {
        mesh g = cta[r: 1], t = thread[x: 256] {
            let mut m = full(f32[4], -inf);
            let mut low = zeros(f32[4]);
            for k in tile(1024, 256) {
                let s = reshard(x[.., k], rmem[4, 256 @ t.x]);
                m = maximum(m, max(s, dim = 1));
                low = minimum(low, min(s, dim = 1));
            }
            (reshard(complete(m), gmem), reshard(complete(low), gmem))
        }
    }

    pub func logical(x: f32[4, 1024]) -> (f32[4], f32[4]) {
        (max(x, dim = 1), minimum(min(x, dim = 1), 0.0))
    }
}
