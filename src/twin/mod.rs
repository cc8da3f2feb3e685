//! Kernels on a device: the driver, and what is measured with it.
//!
//! Nothing here is needed to build: the driver is loaded when a command asks for a device.

pub mod calibrate;
pub mod device;
