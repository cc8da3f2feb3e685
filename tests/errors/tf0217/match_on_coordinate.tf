//! `match` chooses by what is known at compile time; a coordinate is not.
// no fix: `where` on data, or two meshes, are different programs

module M {
    target "nvidia.h200_sxm";
    topology cta = 4, thread = 128;

    entry func f(x: f32[4, 8]) -> f32[4, 8] {
        let mut y = empty(f32[4, 8]);
        mesh g = cta[r: 4] {
            match g.r { // error[TF0217]: `g.r` is not known at compile time
                0 => {
                    y[g.r] = x[g.r];
                },
                _ => {
                    y[g.r] = x[g.r] + x[g.r];
                },
            }
        }
        y
    }
}
