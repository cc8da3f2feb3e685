//! The launch bounds of a kernel limit its blocks.
// no fix: either side may be meant

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
        launch k(x, y) grid(2) block(32, 5); // error[TF0328]: the block has 160 threads, the kernel was compiled for at most 128
        y
    }
}
