//! Modules that are children of each other.
// no fix: one of the children is too many

module A {
    child b: B; // error[TF0227]: child `b` is a module that contains it

    entry func f(x: f32[4]) -> f32[4] {
        x
    }
}

module B {
    child a: A; // error[TF0227]: child `a` is a module that contains it

    entry func f(x: f32[4]) -> f32[4] {
        x
    }
}
