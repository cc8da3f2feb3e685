//! A kernel compiled for clusters of two starts in no others.
// fixed

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[64]) -> f32[64] {
        x + x
    }
}

twin Fast for M {
    extern kernel k(x: in f32[64], y: out f32[64]) from "limits.ptx" entry "pair";

    func f(x) {
        let y = alloc(f32[64]);
        launch k(x, y) grid(4) block(64) cluster(4); // error[TF0328]: `cluster(4)` starts a kernel that was compiled for clusters of 2
        y
    }
}
