//! A generic and a parameter of one function have different names.
// no fix: the name is the author's

func scaled<N>(x: f32[N], N: index) -> f32[N] { // error[TF0215]: `N` is declared twice
    x * N
}

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        x + x
    }
}
