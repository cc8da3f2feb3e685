//! A name near to an entry is offered.
// fixed

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[64]) -> f32[64] {
        x + x
    }
}

twin Fast for M {
    // error[TF0326] at 15: `../../data/images/kernels.sm_90a.cubin` has no entry `scales`
    extern kernel k(x: in f32[64], y: out f32[64], n: u32, s: f32, offset: i64)
        from "../../data/images/kernels.sm_90a.cubin" entry "scales";

    func f(x) {
        let y = alloc(f32[64]);
        launch k(x, y, 64, 2.0, 0) grid(1) block(64);
        y
    }
}
