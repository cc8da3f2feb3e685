//! Bits read as another dtype are the same bytes: they are read once, and nothing is moved.

// cost: gmem.read = 32768
// cost: gmem.write = 32768
// cost: work.int = 32768
module M {
    target "nvidia.h200_sxm";

    entry func low_nibbles(x: f32[64, 128]) -> u8[64, 512] {
        bit_and(bitcast(x, u8), 15)
    }
}
