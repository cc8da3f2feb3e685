//! Children of children: a block holds experts, and a model holds blocks.

// reveal: model.blocks.experts.w: f32[3, 2, 8, 8] in gmem
module Expert {
    weight w: f32[8, 8];

    entry func apply(x: f32[4, 8]) -> f32[4, 8] {
        matmul(x, w)
    }
}

module Block {
    child experts: Expert[2];

    entry func block(x: f32[4, 8]) -> f32[4, 8] {
        experts[0](x) + experts[1](x)
    }
}

module Model {
    target "nvidia.h200_sxm";
    child blocks: Block[3] from "model.blocks";

    entry func model(x: f32[4, 8]) -> f32[4, 8] {
        let mut h = x;
        for i in 0..3 {
            h = blocks[i](h);
        }
        h
    }
}
