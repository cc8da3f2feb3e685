//! Tests of the ops.
