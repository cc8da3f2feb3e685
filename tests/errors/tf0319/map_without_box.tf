//! A tensor map moves boxes of a stated size.
// no fix: the kernel knows the box

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[64]) -> f32[64] {
        x + x
    }
}

twin Fast for M {
    extern kernel k(
        x: in tensor_map(f32[64]), // error[TF0319]: a tensor map names the box
        y: out f32[64],
    ) from "m.ptx" entry "k";

    func f(x) {
        let y = alloc(f32[64]);
        launch k(x, y) grid(1) block(64);
        y
    }
}
