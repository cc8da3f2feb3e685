//! The stream: graphs that are captured from it, and times on it.

use cudarc::driver::{CudaEvent, result, sys};

use super::{Device, DeviceError, failed};

/// A point of time on the device.
pub struct Mark(CudaEvent);

/// A graph that was captured and can be replayed.
pub struct Replay {
    exec: sys::CUgraphExec,
    graph: sys::CUgraph,
}

impl Drop for Replay {
    fn drop(&mut self) {
        // SAFETY: both were made by this type's maker and are destroyed once
        unsafe {
            let _ = result::graph::exec_destroy(self.exec);
            let _ = result::graph::destroy(self.graph);
        }
    }
}

impl Device {
    /// Captures what `work` starts as a graph.
    ///
    /// # Errors
    /// Those of `work`, and what cannot be captured.
    pub fn capture(
        &self,
        work: impl FnOnce() -> Result<(), DeviceError>,
    ) -> Result<Replay, DeviceError> {
        self.here()?;
        let stream = self.stream.cu_stream();
        let mode = sys::CUstreamCaptureMode_enum::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream lives as long as the device; what is captured is ended in any case
        unsafe {
            result::stream::begin_capture(stream, mode).map_err(failed("capturing a graph"))?;
            let worked = work();
            let graph = result::stream::end_capture(stream).map_err(failed("capturing a graph"));
            let graph = match (worked, graph) {
                (Ok(()), Ok(g)) => g,
                (worked, graph) => {
                    if let Ok(g) = graph {
                        let _ = result::graph::destroy(g);
                    }
                    worked?;
                    return Err(DeviceError::Failed {
                        what: "capturing a graph".into(),
                        why: "the driver ended it".into(),
                    });
                }
            };
            let mut exec = std::ptr::null_mut();
            let made = sys::cuGraphInstantiateWithFlags(&mut exec, graph, 0).result();
            if let Err(e) = made {
                let _ = result::graph::destroy(graph);
                return Err(failed("making a graph ready")(e));
            }
            Ok(Replay { exec, graph })
        }
    }

    /// Replays a graph.
    ///
    /// # Errors
    /// Where the driver refuses.
    pub fn replay(&self, r: &Replay) -> Result<(), DeviceError> {
        // SAFETY: the graph lives in `r`
        unsafe { result::graph::launch(r.exec, self.stream.cu_stream()) }
            .map_err(failed("replaying a graph"))
    }

    /// Waits for all that was started.
    ///
    /// # Errors
    /// What a kernel did wrong.
    pub fn wait(&self) -> Result<(), DeviceError> {
        self.stream.synchronize().map_err(failed("running the kernels"))
    }

    /// A point of time in the stream.
    ///
    /// # Errors
    /// Where the driver refuses.
    pub fn mark(&self) -> Result<Mark, DeviceError> {
        let timing = Some(sys::CUevent_flags_enum::CU_EVENT_DEFAULT);
        self.stream.record_event(timing).map(Mark).map_err(failed("marking a time"))
    }

    /// Nanoseconds on the device between two marks that were waited for.
    ///
    /// # Errors
    /// A mark that the device has not come to.
    pub fn between(&self, start: &Mark, end: &Mark) -> Result<f64, DeviceError> {
        let ms = start.0.elapsed_ms(&end.0).map_err(failed("reading a time"))?;
        Ok(f64::from(ms) * 1e6)
    }

    /// Nanoseconds on the device of what `work` starts.
    ///
    /// # Errors
    /// Those of `work`, and what a kernel did wrong.
    pub fn time(&self, work: impl FnOnce() -> Result<(), DeviceError>) -> Result<f64, DeviceError> {
        let start = self.mark()?;
        work()?;
        let end = self.mark()?;
        self.wait()?;
        self.between(&start, &end)
    }
}
