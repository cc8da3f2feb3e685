//! A parameter of the right size may still be of another kind.
// no fix: either side may be meant

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[64]) -> f32[64] {
        x + x
    }
}

twin Fast for M {
    extern kernel k(
        x: in f32[64],
        y: out f32[64],
        n: f32, // error[TF0326]: `n` is f32; the image has `.u32`
        s: u32, // error[TF0326]: `s` is u32; the image has `.f32`
        offset: i64,
    ) from "../../data/images/kernels.ptx" entry "scale";

    func f(x) {
        let y = alloc(f32[64]);
        launch k(x, y, 64.0, 2, 0) grid(1) block(64);
        y
    }
}
