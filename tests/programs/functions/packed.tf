//! Two 4-bit floats to a byte, taken apart.

// cost: work.cvt = 2048
// cost: gmem.read = 1024
// cost: gmem.write = 8192
module M {
    target "nvidia.h200_sxm";

    entry func unpacked(codes: u8[1024]) -> f32[2048] {
        cast(bitcast(codes, f4e2m1), f32)
    }
}
