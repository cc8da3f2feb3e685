//! A module with two entries.
// no fix: either may be the one

module M {
    entry func f(x: f32[4]) -> f32[4] {
        x
    }

    entry func g(x: f32[4]) -> f32[4] { // error[TF0215]: a module has one `entry func`
        x
    }
}
