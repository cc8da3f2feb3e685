//! The parameters of a twin's function are those of the module's.
// no fix: the missing parameter is the author's

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[64], y: f32[64]) -> f32[64] {
        x + y
    }
}

twin Fast for M {
    extern kernel k(x: in f32[64], y: out f32[64]) from "m.ptx" entry "k";

    func f(x) { // error[TF0318]: the parameters are `(x)`, the module's are `(x, y)`
        let y = alloc(f32[64]);
        launch k(x, y) grid(1) block(64);
        y
    }
}
