//! A bounded integer of a parameter is a number: in subscripts, window starts and loop bounds.

// reveal: a: f32[4] in gmem
// reveal: b: f32[2, 4] in gmem
module M {
    target "nvidia.h200_sxm";

    entry func f(
        x: f32[16, 4],
        row: i32 range 0..16,
        start: i32[3] range 0..=14,
        lens: i32[2] range 1..=16,
    ) -> (f32[4], f32[2, 4], f32[4]) {
        let a = x[row];
        let s = start[1];
        let b = x[s..s + 2];
        let mut acc = zeros(f32[4]);
        for i in 0..lens[0] {
            acc = acc + x[i];
        }
        (a, b, acc)
    }
}
