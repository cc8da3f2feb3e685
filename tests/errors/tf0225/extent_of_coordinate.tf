//! Extents never vary between positions.
// no fix: extents never vary

module M {
    target "nvidia.h200_sxm";
    topology cta = 4, thread = 128;

    entry func f(x: f32[4]) -> f32[4] {
        let mut y = empty(f32[4]);
        mesh g = cta[r: 4] {
            let z = zeros(f32[g.r + 1]); // error[TF0225]: varies with `g.r`
            y[g.r] = x[g.r] + sum(z, dim = 0);
        }
        y
    }
}
