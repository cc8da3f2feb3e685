//! A variable keeps what it is: a tensor does not become a tuple.
// no fix: another variable is another declaration

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        let mut a = x;
        a = (x, x); // error[TF0234]: `a` is a tensor, it is assigned a tuple
        x
    }
}
