//! The interface for progress reports.

/// Receives progress reports and decides how to display them. Any `Fn(&str)` can receive steps.
pub trait BuildProgress {
    /// Reports a new step, in words for people: `building std for wasm32-unknown-unknown`.
    fn step(&self, message: &str);

    /// Reports a line printed by a running tool (cargo, apt-get).
    fn line(&self, _line: &str) {}
}

impl<F: Fn(&str)> BuildProgress for F {
    fn step(&self, message: &str) {
        self(message);
    }
}
