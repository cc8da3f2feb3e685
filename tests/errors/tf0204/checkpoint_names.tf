//! Checkpoint names with too many `{}`.
// no fix: the name or the type may be the mistake

module M {
    weight e: f32[2, 4] from "a.{}.b.{}"; // error[TF0204]: a checkpoint name has at most one `{}`
    weight u: f32 from "a.{}"; // error[TF0204]: `{}` runs over the leading axis, and this weight has none

    entry func f(x: f32[4]) -> f32[4] {
        x
    }
}
