//! A value that is prepared from itself.
// no fix: what was meant is not known

module M {
    prepare q: f32[4] = q + 1.0; // error[TF0218]: `q` is prepared from itself

    entry func f(x: f32[4]) -> f32[4] {
        x * q
    }
}
