//! A twin has all boundaries of its module.
// no fix: the kernels of the missing function are the author's

module M {
    target "nvidia.h200_sxm";

    pub func norm(x: f32[64]) -> f32[64] {
        x + x
    }

    entry func f(x: f32[64]) -> f32[64] {
        norm(x)
    }
}

twin Fast for M { // error[TF0318]: `norm`
    extern kernel k(x: in f32[64], y: out f32[64]) from "m.ptx" entry "k";

    func f(x) {
        let y = alloc(f32[64]);
        launch k(x, y) grid(1) block(64);
        y
    }
}
