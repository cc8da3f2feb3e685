//! A driver takes PTX up to its own version, and `a` stands for one compute capability.
// no fix: the image is to be built again

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[64]) -> f32[64] {
        x + x
    }
}

twin Fast for M {
    // error[TF0327] at 15: the PTX is for `sm_100a`
    // error[TF0327] at 15: the PTX is of version 9.9, the driver of the target `nvidia.h200_sxm` takes up to 9.0
    extern kernel k(x: in f32[64], y: out f32[64]) from "later.ptx" entry "k";

    func f(x) {
        let y = alloc(f32[64]);
        launch k(x, y) grid(2) block(64);
        y
    }
}
