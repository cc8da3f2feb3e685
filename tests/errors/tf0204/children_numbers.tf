// no fix: which children are meant is not known
module Scale {
    weight w: f32[8] from "scale";

    entry func scale(x: f32[8]) -> f32[8] {
        x * w
    }
}

module M {
    target "nvidia.h200_sxm";
    child twice: Scale[[3, 3]] from "layers"; // error[TF0204]: distinct integers
    child below: Scale[[-1]] from "layers"; // error[TF0204]: none negative

    entry func f(x: f32[8]) -> f32[8] {
        below[0](twice[0](x))
    }
}
