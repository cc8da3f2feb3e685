//! Consts are folded: integers, floats, bools, strings, in any order, over dims too.

const TWICE = 2 * N;
const N = 0x10;
const BIG = 1_000_000 / N;
const SCALE = 1.0 / sqrt(N);
const HALF = 7 / 2;
const REAL = 7 / 2.0;
const ROWS = ceil_div(ctx, N);
const FLAG = TWICE > N && !(N == 4);
type Act = bf16;
dim ctx in 1..=1024;

// reveal: a: f32[16] in gmem
// reveal: b: bf16[32] in gmem
// reveal: c: f32[3] in gmem
// reveal: d: f32[ceil_div(ctx, 16), 62500] in gmem
module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[N], y: Act[TWICE]) -> (f32[N], bf16[32], f32[3], f32[ROWS, BIG]) {
        let a = x * SCALE + REAL;
        let b = y + y;
        let c = zeros(f32[HALF]);
        let d = zeros(f32[ROWS, BIG]);
        let chosen = match FLAG {
            true => a,
            false => a + a,
        };
        (chosen, b, c, d)
    }
}
