//! Layers of several kinds in the order of a string: an array of children for each kind has the
//! numbers that the layers have among all.

// agrees: f = logical
const PATTERN = "abba";
const A = positions(PATTERN, "a");

module Scale {
    weight w: f32[8] from "scale";

    entry func scale(x: f32[8]) -> f32[8] {
        x * w
    }
}

module Shift {
    weight w: f32[8] from "shift";

    entry func shift(x: f32[8]) -> f32[8] {
        x + w
    }
}

// reveal: f.a.w: f32[2, 8] in gmem
// reveal: f.b.w: f32[2, 8] in gmem
module M {
    target "nvidia.h200_sxm";
    child a: Scale[A] from "layers";
    child b: Shift[positions(PATTERN, "b")] from "layers";
    child last: Shift[[7, 9]] from "tail";

    entry func f(x: f32[8]) -> f32[8] {
        let mut h = x;
        let mut i = 0;
        let mut k = 0;
        for kind in PATTERN {
            match kind {
                "a" => {
                    h = a[i](h);
                    i = i + 1;
                },
                "b" => {
                    h = b[k](h);
                    k = k + 1;
                },
            }
        }
        last[1](h) * (i + 10 * k)
    }

    pub func logical(x: f32[8]) -> f32[8] {
        let h = a[0](x);
        let y = a[1](b[1](b[0](h)));
        last[1](y) * (len(A) + 20)
    }
}
