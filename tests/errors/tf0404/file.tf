//! A file of inputs has a value outside the range that its parameter declares.
// no fix: the file or the declaration is wrong
// run: check FILE --inputs tests/errors/tf0401/x.npy tests/errors/tf0401/equal.npy --fn finite
// error[TF0404] anywhere: element 3 of `row` is 3, outside its declared range 0..=2

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4], row: i32[4] range 0..3) -> f32[4] {
        x + x[row[0]]
    }
}
