//! Bits read as another dtype are the same bytes: the bytes are read once, and nothing is moved.

// cost: M.low_nibbles: gmem.read = 32768
// cost: M.low_nibbles: gmem.write = 32768
// cost: M.low_nibbles: work.int = 32768
// cost: M.unpacked: work.cvt = 2048
// cost: M.unpacked: gmem.read = 1024
module M {
    target "nvidia.h200_sxm";

    entry func low_nibbles(x: f32[64, 128]) -> u8[64, 512] {
        bit_and(bitcast(x, u8), 15)
    }

    pub func unpacked(codes: u8[1024]) -> f32[2048] {
        cast(bitcast(codes, f4e2m1), f32)
    }
}
