//! A padded split: 3 slots on each of 32 threads cover 90 elements. Reductions do not see the tail.

// agrees: f = logical
// reveal: s: f32[4, 90] in rmem[4, pad(3, 32 @ t.x)]
// reveal: e: f32[4, 90] in rmem[4, pad(3, 32 @ t.x)]
// reveal: m: f32[4, 1] in rmem partial(sum, t.x)
// reveal: y: f32[4, 90] in rmem[4, pad(3, 32 @ t.x)]
module M {
    target "nvidia.h200_sxm";
    topology cta = 1, thread = 32;

    entry func f(x: f32[4, 90]) -> f32[4, 90] {
        mesh g = cta[r: 1], t = thread[x: 32] {
            let s = reshard(x, rmem[4, pad(3, 32 @ t.x)]);
            let e = exp(s);
            let m = mean(e, dim = 1, keepdim = true);
            let y = e - complete(m);
            reshard(y, gmem)
        }
    }

    pub func logical(x: f32[4, 90]) -> f32[4, 90] {
        let e = exp(x);
        e - sum(e, dim = 1, keepdim = true) / 90
    }
}
