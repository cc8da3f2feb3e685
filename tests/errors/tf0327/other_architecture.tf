//! Code of one architecture runs on no other.
// no fix: the image is to be built again

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[64]) -> f32[64] {
        x + x
    }
}

twin Fast for M {
    // error[TF0327] at 15: the cubin is for `sm_100`, the target `nvidia.h200_sxm` has compute capability 9.0
    extern kernel k(x: in f32[64], y: out f32[64], n: u32, s: f32, offset: i64)
        from "../../data/images/kernels.sm_100.cubin" entry "scale";

    func f(x) {
        let y = alloc(f32[64]);
        launch k(x, y, 64, 2.0, 0) grid(1) block(64);
        y
    }
}
