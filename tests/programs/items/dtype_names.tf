//! A const that names a dtype, as PyTorch or the language does, is the head of a type.

const DTYPE = "bfloat16";
const OTHER = "f8e4m3";

type Act = DTYPE;

// reveal: f.y: bf16[4] in gmem
// reveal: f.z: f8e4m3[4] in gmem
func f(x: Act[4]) -> OTHER[4] {
    let y = x + 1.0;
    let z: OTHER[4] = cast(y, f8e4m3);
    z
}
