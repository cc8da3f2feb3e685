//! A tensor parameter of a kernel says `in`, `out` or `inout`.
// no fix: whether the kernel writes it is the author's

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[64]) -> f32[64] {
        x + x
    }
}

twin Fast for M {
    extern kernel k(x: f32[64], y: out f32[64]) from "m.ptx" entry "k"; // error[TF0319]: `x`

    func f(x) {
        let y = alloc(f32[64]);
        launch k(x, y) grid(1) block(64);
        y
    }
}
