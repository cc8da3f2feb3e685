//! The four projections of a decode step with hidden 256, 8 query and 2 KV heads of 32: two of
//! 256 x 256 and two of 64 x 256.
// cost: flops.bf16 = 327680

const H = 256;
const KV = 64;

module M {
    target "nvidia.h200_sxm";
    weight w_q: bf16[H, H] from "q_proj.weight";
    weight w_k: bf16[KV, H] from "k_proj.weight";
    weight w_v: bf16[KV, H] from "v_proj.weight";
    weight w_o: bf16[H, H] from "o_proj.weight";

    entry func project(x: bf16[1, H]) -> (bf16[1, KV], bf16[1, KV], bf16[1, H]) {
        let q = matmul(x, w_q, transpose_b = true);
        let k = matmul(x, w_k, transpose_b = true);
        let v = matmul(x, w_v, transpose_b = true);
        (k, v, matmul(q, w_o, transpose_b = true))
    }
}
