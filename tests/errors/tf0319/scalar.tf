//! Scalars of a kernel are u32, i32, u64, i64 or f32.
// no fix: the scalar's dtype is the kernel's

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[64]) -> f32[64] {
        x + x
    }
}

twin Fast for M {
    extern kernel k(x: in f32[64], y: out f32[64], n: bf16) from "m.ptx" entry "k"; // error[TF0319]: a scalar parameter is no bf16

    func f(x) {
        let y = alloc(f32[64]);
        launch k(x, y, 64) grid(1) block(64);
        y
    }
}
