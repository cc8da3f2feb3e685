//! `argmax` needs its axis whole: it has no partial form.
// no fix: where the value is gathered is the author's

module M {
    target "nvidia.h200_sxm";
    topology cta = 1, thread = 32;

    entry func f(x: f32[4, 32]) -> i64[4] {
        mesh g = cta[r: 1], t = thread[x: 32] {
            let s = reshard(x, rmem[4, 32 @ t.x]);
            let i = argmax(s, dim = 1); // error[TF0309]: needs all elements along this axis, which is split
            reshard(i, gmem)
        }
    }
}
