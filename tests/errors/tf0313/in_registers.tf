//! What leaves a mesh is in gmem.
// fixed

module M {
    target "nvidia.h200_sxm";
    topology cta = 4, thread = 128;

    entry func f(x: f32[64]) -> f32[64] {
        mesh g = cta[r: 4] {
            let s = reshard(x, smem[64 @ g.r]);
            s + s // error[TF0313]: would leave the mesh
        }
    }
}
