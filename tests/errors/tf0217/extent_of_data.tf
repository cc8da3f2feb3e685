//! Data gives no extents.
// no fix: extents never vary

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[64], n: i32 range 1..=64) -> f32[64] {
        let y = zeros(f32[n]); // error[TF0217]: an extent is no data
        x + y
    }
}
