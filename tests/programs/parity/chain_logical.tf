//! The chain without a placement, as the Python tool counts it: each operand use is one read.
// cost: flops.f16 = 25165824
// cost: gmem.read = 100663296
// cost: gmem.write = 50331648

module M {
    target "nvidia.h200_sxm";

    entry func chain(x: f16[1, 4096, 2048]) -> f16[1, 4096, 2048] {
        let y = x * x;
        let z = y + x;
        z * x
    }
}
