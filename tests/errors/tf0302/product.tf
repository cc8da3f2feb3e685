//! The factors of an axis multiply to its extent.
// no fix: which factor is wrong is not known

module M {
    target "nvidia.h200_sxm";
    topology cta = 8, thread = 32;

    entry func f(x: f16[4096]) -> f16[4096] {
        mesh g = cta[r: 8], t = thread[x: 32] {
            let s = reshard(x, rmem[(8 @ g.r, 8, 32 @ t.x)]); // error[TF0302]: the factors give 2048, the axis has 4096
            reshard(s + s, gmem)
        }
    }
}
