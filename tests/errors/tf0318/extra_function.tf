//! A twin has no function that its module has not.
// no fix: which module function is meant is not known

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[64]) -> f32[64] {
        x + x
    }
}

twin Fast for M {
    extern kernel k(x: in f32[64], y: out f32[64]) from "m.ptx" entry "k";

    func f(x) {
        let y = alloc(f32[64]);
        launch k(x, y) grid(1) block(64);
        y
    }

    func other(x) { // error[TF0318]: `other`
        x
    }
}
