//! A padded split covers its axis: 10 x 256 slots do not hold 2688 elements.
// no fix: which factor grows is the author's

module M {
    target "nvidia.h200_sxm";
    topology cta = 1, thread = 256;

    entry func f(x: f32[2688]) -> f32[2688] {
        mesh g = cta[r: 1], t = thread[x: 256] {
            let s = reshard(x, rmem[pad(10, 256 @ t.x)]); // error[TF0302]: the padded factors give 2560, less than the axis of 2688
            reshard(s + s, gmem)
        }
    }
}
