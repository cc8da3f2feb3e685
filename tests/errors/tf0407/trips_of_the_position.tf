//! The positions that a `collect` waits for leave its loop after different numbers of trips.
// no fix: equal trips, or the collect after the loop, both are possible
// run: check FILE --inputs random:1 --fn finite

module M {
    target "nvidia.h200_sxm";
    topology cta = 4;

    entry func f(x: f32[4]) -> f32[4] {
        mesh g = cta[r: 4] {
            let mut acc = x[g.r];
            // error[TF0407] at 13: the bounds of this loop depend on g.r
            for i in 0..g.r {
                let all = collect(acc, g.r);
                acc = acc + complete(sum(all, dim = 0));
            }
            reshard(collect(acc, g.r), gmem)
        }
    }
}
