//! Kernels on a device: the driver, and what is measured with it.
//!
//! Nothing here is needed to build: the driver is loaded when a command asks for a device.

pub mod calibrate;
pub mod device;
pub mod faults;
pub mod host;
pub mod image;
pub mod job;
pub mod live;
pub mod plan;
pub mod worker;

/// The middle of some figures; 0 of none.
pub(crate) fn median(mut v: Vec<f64>) -> f64 {
    v.sort_by(f64::total_cmp);
    v.get(v.len() / 2).copied().unwrap_or(0.0)
}
