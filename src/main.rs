//! The `tilefoundry` binary.
fn main() {}
