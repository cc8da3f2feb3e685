//! A generic over `float` does not take integers.
// no fix: the argument or the class may be the mistake

func halved<T: float, N>(x: T[N]) -> T[N] {
    x * 0.5
}

module M {
    target "nvidia.h200_sxm";

    entry func f(x: i32[4]) -> i32[4] {
        halved(x) // error[TF0210]: `halved` takes a float dtype here, found i32
    }
}
