//! Static and dynamic shared memory of a kernel fit a CTA together.
// no fix: what to do without is for the author to say

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[64]) -> f32[64] {
        x + x
    }
}

twin Fast for M {
    extern kernel k(x: in f32[64], y: out f32[64]) from "limits.ptx" entry "full";

    func f(x) {
        let y = alloc(f32[64]);
        launch k(x, y) grid(2) block(64) smem(227 * 1024); // error[TF0328]: the launch needs 265216 bytes of shared memory, a CTA has 232448
        y
    }
}
