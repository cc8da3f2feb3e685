//! A block whose extents are fixed has no others.
// fixed

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[64]) -> f32[64] {
        x + x
    }
}

twin Fast for M {
    extern kernel k(x: in f32[64], y: out f32[64]) from "limits.ptx" entry "fixed";

    func f(x) {
        let y = alloc(f32[64]);
        launch k(x, y) grid(2) block(128); // error[TF0328]: `block(128)` starts a kernel that was compiled for blocks of 64, 2
        y
    }
}
