//! A product of two partial sums is no partial sum.
// no fix: which of the two is completed is the author's

module M {
    target "nvidia.h200_sxm";
    topology cta = 1, thread = 256;

    entry func f(x: f32[4, 256], y: f32[4, 256]) -> f32[4] {
        mesh g = cta[r: 1], t = thread[x: 256] {
            let a = sum(reshard(x, rmem[4, 256 @ t.x]), dim = 1);
            let b = sum(reshard(y, rmem[4, 256 @ t.x]), dim = 1);
            let c = a * b; // error[TF0310]: an operand is partial
            reshard(complete(c), gmem)
        }
    }
}
