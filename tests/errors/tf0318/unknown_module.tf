//! A twin of a module that does not exist.
// fixed

module Chain {
    target "nvidia.h200_sxm";

    entry func f(x: f32[64]) -> f32[64] {
        x + x
    }
}

twin Fast for Chian { // error[TF0318]: there is no module `Chian`
    extern kernel k(x: in f32[64], y: out f32[64]) from "m.ptx" entry "k";

    func f(x) {
        let y = alloc(f32[64]);
        launch k(x, y) grid(1) block(64);
        y
    }
}
