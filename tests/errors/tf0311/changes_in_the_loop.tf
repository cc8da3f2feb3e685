//! A carried variable has one placement for all trips.
// no fix: which of the two placements is meant is not known

module M {
    target "nvidia.h200_sxm";
    topology cta = 1, thread = 32;

    entry func f(x: f32[32, 32]) -> f32[32, 32] {
        mesh g = cta[r: 1], t = thread[x: 32] {
            let mut acc = reshard(x, rmem[32 @ t.x, 32]);
            for i in 0..4 {
                acc = reshard(acc + acc, rmem[32, 32 @ t.x]); // error[TF0311]: `acc` starts a trip as
            }
            reshard(acc, gmem)
        }
    }
}
