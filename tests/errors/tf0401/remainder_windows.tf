//! Windows taken modulo the extent: whether they overlap is found when the program runs.
// no fix: which window each position owns is the author's
// run: check FILE --inputs random:1 --fn finite

module M {
    target "nvidia.h200_sxm";
    topology cta = 4;

    entry func f(x: f32[4, 8]) -> f32[16] {
        let mut y = zeros(f32[16]);
        mesh g = cta[r: 4] {
            let at = g.r * 8 % 16;
            y[at..at + 8] = x[g.r]; // error[TF0401]: both write element [0] of `y`
        }
        y
    }
}
