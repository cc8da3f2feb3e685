//! A bar on standard error: only on a terminal, and only for what takes more than a second.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::eval::Progress;

/// Shows itself once a second has gone by, and clears itself when dropped.
pub struct Bar {
    start: Instant,
    enabled: bool,
    bar: Mutex<Option<ProgressBar>>,
}

impl Bar {
    pub fn new() -> Bar {
        let enabled = std::io::stderr().is_terminal();
        Bar { start: Instant::now(), enabled, bar: Mutex::new(None) }
    }
}

impl Progress for Bar {
    fn step(&self, done: u64, total: u64, what: &str) {
        if !self.enabled || self.start.elapsed() < Duration::from_secs(1) {
            return;
        }
        let Ok(mut slot) = self.bar.lock() else { return };
        let bar = slot.get_or_insert_with(|| {
            let bar =
                ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr_with_hz(10));
            if let Ok(style) = ProgressStyle::with_template("{elapsed} {wide_bar} {percent}% {msg}")
            {
                bar.set_style(style);
            }
            bar
        });
        bar.set_length(total);
        bar.set_position(done);
        bar.set_message(what.to_string());
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Ok(slot) = self.bar.lock()
            && let Some(bar) = slot.as_ref()
        {
            bar.finish_and_clear();
        }
    }
}
