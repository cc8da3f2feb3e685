//! A dtype of another language.
// fixed

module M {
    target "nvidia.h200_sxm";

    entry func f(x: bf16[4]) -> bfl6[4] { // error[TF0201]: `bfl6`
        x + x
    }
}
