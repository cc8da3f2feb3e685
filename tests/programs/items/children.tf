//! Children with their own weights: an array of them is one parameter with a leading axis.

// agrees: f = logical
const L = 4;

// reveal: f.layers.gamma: f32[4, 64] in gmem
// reveal: f.last.gamma: f32[64] in gmem
module Layer {
    weight gamma: f32[64] from "norm.weight";

    pub func norm(x: f32[8, 64]) -> f32[8, 64] {
        x * gamma
    }

    entry func layer(x: f32[8, 64]) -> f32[8, 64] {
        norm(x) + x
    }
}

module M {
    target "nvidia.h200_sxm";
    child layers: Layer[L] from "model.layers";
    child last: Layer from "model.last";

    entry func f(x: f32[8, 64]) -> f32[8, 64] {
        let mut h = x;
        for i in 0..L {
            h = layers[i](h);
        }
        let n = layers[0].norm(h);
        last(n)
    }

    pub func logical(x: f32[8, 64]) -> f32[8, 64] {
        let h = layers[3](layers[2](layers[1](layers[0](x))));
        last(layers[0].norm(h))
    }
}
