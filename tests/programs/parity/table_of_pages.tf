//! Pages that a table names. 8 CTAs make 8 trips; each trip reads an element of the table, 4 B, and a
//! row of 256 f32, 1024 B: 64 x 1028 B. The heads of one batch row read the same: half of it as authored.
// cost: gmem.read.total = 65792
// cost: gmem.read = 32896
// cost: footprint.table.read = 128
// cost: work.fma.f32.total = 16384

module M {
    target "nvidia.h200_sxm";
    topology cta = 8, thread = 128;

    entry func sums(x: f32[16, 256], table: i32[4, 8] range 0..16) -> f32[4, 2, 256] {
        let mut out = empty(f32[4, 2, 256]);
        mesh g = cta[b: 4, h: 2], t = thread[x: 128] {
            let mut acc: f32[256] in rmem[256 @ t.x] = zeros(f32[256]);
            for i in 0..8 {
                let page = table[g.b, i];
                acc = acc + reshard(x[page], rmem[256 @ t.x]);
            }
            out[g.b, g.h] = acc;
        }
        out
    }
}
