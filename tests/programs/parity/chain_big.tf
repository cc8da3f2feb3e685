//! The chain on 8 CTAs with every value in registers: 2 MiB a value, 4 MiB with in-place reuse. It
//! compiles; its capacity is the verdict of `analyze`.
// cost: flops.f16 = 25165824
// cost: gmem.read = 16777216
// cost: gmem.write = 16777216
// cost: peak.rmem.in_place = 4194304

module M {
    target "nvidia.h200_sxm";
    topology cta = 8, thread = 256;

    entry func chain(x: f16[1, 4096, 2048]) -> f16[1, 4096, 2048] {
        mesh g = cta[b: 8] {
            let xr = reshard(x, rmem[1, 4096 @ g.b, 2048]);
            let y = xr * xr;
            let z = y + xr;
            let w = z * xr;
            reshard(w, gmem)
        }
    }
}
