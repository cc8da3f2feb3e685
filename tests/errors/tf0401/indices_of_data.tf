//! Positions write the rows that a tensor names, and two of its elements are equal.
// no fix: the indices are the caller's
// run: check FILE --inputs tests/errors/tf0401/x.npy tests/errors/tf0401/equal.npy --fn finite

module M {
    target "nvidia.h200_sxm";
    topology cta = 4;

    entry func f(x: f32[4], row: i32[4] range 0..4) -> f32[4] {
        let mut y = zeros(f32[4]);
        mesh g = cta[r: 4] {
            y[row[g.r]] = x[g.r]; // error[TF0401]: positions (g.r=1) and (g.r=2) both write
        }
        y
    }
}
