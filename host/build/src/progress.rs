//! How long operations report their progress.

/// Receives progress and decides what a person sees of it. Any `Fn(&str)` is a receiver of steps.
pub trait Progress {
    /// A step has begun, in words for people: `building std for wasm32-unknown-unknown`.
    fn step(&self, message: &str);

    /// A tool (cargo, apt-get) printed a line while it worked.
    fn line(&self, _line: &str) {}
}

impl<F: Fn(&str)> Progress for F {
    fn step(&self, message: &str) {
        self(message);
    }
}
