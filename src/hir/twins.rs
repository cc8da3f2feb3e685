//! Twins: held against their modules.
