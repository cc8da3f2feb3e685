//! A kernel has the parameters of its entry.
// no fix: what is missing is for the author to say

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[64]) -> f32[64] {
        x + x
    }
}

twin Fast for M {
    // error[TF0326] at 14: `k` is declared with 2 parameters, its entry in `../../data/images/kernels.ptx` has 5
    extern kernel k(x: in f32[64], y: out f32[64])
        from "../../data/images/kernels.ptx" entry "scale";

    func f(x) {
        let y = alloc(f32[64]);
        launch k(x, y) grid(2) block(64);
        y
    }
}
