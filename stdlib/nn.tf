//! Neural network functions.
