//! Layouts that are none of the value.
// no fix: the numbers that were meant are not known

module M {
    target "nvidia.h200_sxm";
    topology cta = 4, thread = 128;

    entry func f(x: f32[128, 64]) -> f32[128, 64] {
        mesh g = cta[r: 4] {
            let a = reshard(x, smem layout (128, 60):(64, 1)); // error[TF0301]: the layout has 7680 elements, the value 8192
            let b = reshard(x, smem layout (128, (8, 8)):(64, 1)); // error[TF0301]: nested alike
            reshard(reshard(x, smem layout (128, 64):(64, 1)), gmem)
        }
    }
}
