//! Only a generic of several axes is spread.
// no fix: the axis or the generic may be the mistake

func flat<N, M>(x: f32[N, M]) -> f32[N, M] {
    reshape(x, [..N, M]) // error[TF0204]: `..` spreads a generic of several axes, found an integer
}

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4, 2]) -> f32[4, 2] {
        flat(x)
    }
}
