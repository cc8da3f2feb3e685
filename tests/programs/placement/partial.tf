//! A reduction over a split axis is partial; linear operations pass a sum, monotone ones a maximum.

// reveal: total: f32[4] in rmem partial(sum, t.x)
// reveal: avg: f32[4, 1] in rmem partial(sum, t.x)
// reveal: twice: f32[4] in rmem partial(sum, t.x)
// reveal: scaled: f32[4] in rmem partial(sum, t.x)
// reveal: column: f32[4, 1] in rmem partial(sum, t.x)
// reveal: done: f32[4] in rmem
// reveal: top: f32[4] in rmem partial(max, t.x)
// reveal: low: f32[4] in rmem partial(min, t.x)
// reveal: size: f32[4] in rmem partial(max, t.x)
module M {
    target "nvidia.h200_sxm";
    topology cta = 1, thread = 256;

    entry func f(x: f32[4, 256]) -> (f32[4], f32[4, 1], f32[4], f32[4]) {
        mesh g = cta[r: 1], t = thread[x: 256] {
            let s = reshard(x, rmem[4, 256 @ t.x]);
            let total = sum(s, dim = 1);
            let avg = mean(s, dim = 1, keepdim = true);
            let twice = total + total;
            let scaled = -twice * 2.0;
            let column = reshape(scaled, [4, 1]);
            let done = complete(scaled);
            let top = max(s, dim = 1);
            let low = min(s, dim = 1);
            let size = abs_max(s, dim = 1);
            let spread = complete(maximum(top, size)) - complete(low);
            (
                reshard(exp(done), gmem),
                reshard(complete(column) + complete(avg), gmem),
                reshard(spread, gmem),
                reshard(total, gmem),
            )
        }
    }
}
