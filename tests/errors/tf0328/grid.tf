//! The grid of a kernel that was compiled for clusters is made of whole ones.
// no fix: how large the grid is to be is not known

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
        launch k(x, y) grid(3) block(64); // error[TF0328]: a grid of 3 is no multiple of the clusters of 2
        y
    }
}
