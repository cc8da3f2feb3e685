//! Parameters of a module's functions have types; only those of a twin do not.
// no fix: the type is the author's

module M {
    target "nvidia.h200_sxm";

    entry func f(x) -> f32[4] { // error[TF0103]: expected `:` and a type after the parameter `x`
        x + x
    }
}
