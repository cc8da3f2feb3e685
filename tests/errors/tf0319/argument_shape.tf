//! A launch passes tensors of the kernel's shapes.
// no fix: the declaration or the buffer may be the mistake

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[64]) -> f32[64] {
        x + x
    }
}

twin Fast for M {
    extern kernel k(x: in f32[64], y: out f32[128]) from "m.ptx" entry "k";

    func f(x) {
        let y = alloc(f32[64]);
        launch k(x, y) grid(1) block(64); // error[TF0319]: `f32[128]`
        y
    }
}
