//! Tensor memory is a storage of Blackwell; an H200 has none.
// no fix: the storage is the author's

module M {
    target "nvidia.h200_sxm";
    topology cta = 132, thread = 128;

    entry func f(x: f32[128, 64]) -> f32[128, 64] {
        mesh g = cta[r: 1] {
            let s = reshard(x, tmem); // error[TF0322]: `nvidia.h200_sxm` has no `tmem`
            reshard(s, gmem)
        }
    }
}
