//! The RMS norm on 128 CTAs, 4 groups of rows x 64 threads. The weight is read once by each CTA. The
//! mean is partial over the 64 threads here, and completed; the Python tool completes it silently.
// cost: flops.bf16 = 16777216
// cost: gmem.read = 33562624
// cost: gmem.read.total = 34603008
// cost: gmem.write = 33554432

module M {
    target "nvidia.h200_sxm";
    topology cta = 128, thread = 256;
    weight w: bf16[1, 4096] from "w";

    entry func norm(x: bf16[4096, 4096]) -> bf16[4096, 4096] {
        mesh g = cta[row: 128], t = thread[x: 4, t: 64] {
            let xr = reshard(x, rmem[4096 @ (g.row, t.x), 4096 @ t.t]);
            let f = cast(xr, f32);
            let m = complete(mean(square(f), dim = -1, keepdim = true));
            let n = cast(f * rsqrt(m + 1e-6), bf16);
            let y = n * reshard(w, rmem[1, 4096 @ t.t]);
            reshard(y, gmem)
        }
    }
}
