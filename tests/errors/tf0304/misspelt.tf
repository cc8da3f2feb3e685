//! A misspelt level: the nearest is offered.
// fixed

module M {
    target "nvidia.h200_sxm";
    topology cta = 4, thread = 128;

    entry func f(x: f32[128]) -> f32[128] {
        mesh g = cta[r: 1], t = threads[x: 128] { // error[TF0304]: `threads` is no level of this module's topology
            let s = reshard(x, rmem[128 @ t.x]);
            reshard(s + s, gmem)
        }
    }
}
