//! The source of a kernel is not its image.
// no fix: the file is to be built

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[64]) -> f32[64] {
        x + x
    }
}

twin Fast for M {
    // error[TF0325] at 15: neither PTX, which begins with `.version`, nor a cubin
    extern kernel k(x: in f32[64], y: out f32[64])
        from "../../data/images/kernels.cu" entry "scale";

    func f(x) {
        let y = alloc(f32[64]);
        launch k(x, y) grid(2) block(64);
        y
    }
}
