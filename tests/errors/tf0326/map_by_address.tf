//! A tensor map goes to a kernel by value, an address does not stand for it.
// no fix: either side may be meant

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[64]) -> f32[64] {
        x + x
    }
}

twin Fast for M {
    extern kernel k(
        x: in tensor_map(f32[64], box = [64]), // error[TF0326]: `x` is a tensor map, 128 bytes; the image has `.u64`
        y: out f32[64],
        n: u32,
        s: f32,
        offset: i32, // error[TF0326]: `offset` is i32, 4 bytes; the image has `.u64`
    ) from "../../data/images/kernels.ptx" entry "scale";

    func f(x) {
        let y = alloc(f32[64]);
        launch k(x, y, 64, 2.0, 0) grid(1) block(64);
        y
    }
}
