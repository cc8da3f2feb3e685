//! An entry is named as in the image.
// fixed

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[64]) -> f32[64] {
        x + x
    }
}

twin Fast for M {
    // error[TF0326] at 14: `../../data/images/kernels.ptx` has no entry `fill`
    extern kernel k(y: out f32[64], n: i32) from "../../data/images/kernels.ptx" entry "fill";

    func f(x) {
        let y = alloc(f32[64]);
        launch k(y, 3) grid(2) block(64);
        y
    }
}
