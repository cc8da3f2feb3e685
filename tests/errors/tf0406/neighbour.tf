//! A position reads what its neighbour wrote in the same block.
// no fix: a second block or `collect`, both are possible
// run: check FILE --inputs random:1 --fn finite

module M {
    target "nvidia.h200_sxm";
    topology cta = 4;

    entry func f(x: f32[4]) -> f32[4] {
        let mut y = zeros(f32[4]);
        let mut z = zeros(f32[4]);
        mesh g = cta[r: 4] {
            y[g.r] = x[g.r];
            z[g.r] = y[(g.r + 1) % 4]; // error[TF0406]: reads element
        }
        z
    }
}
