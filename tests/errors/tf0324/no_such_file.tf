//! An image that is not there: only a run of the twin needs it.
// no fix: the file is to be built

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[64]) -> f32[64] {
        x + x
    }
}

twin Fast for M {
    // warning[TF0324] at 14: tests/errors/tf0324/not_built.ptx
    extern kernel k(x: in f32[64], y: out f32[64]) from "not_built.ptx" entry "k";

    func f(x) {
        let y = alloc(f32[64]);
        launch k(x, y) grid(2) block(64);
        y
    }
}
