//! Every decoder and parser of foreign bytes, as a function of bytes that must not panic.
//!
//! [`TARGETS`] lists them. The suite runs each on its seeds and on mutated copies of them
//! ([`mutate`]). The crate in the folder `fuzz` runs the same functions under AFL++, which is
//! guided by branch coverage.

pub mod mutate;

mod bundle;
mod component;
mod front;
mod restate;
mod stored;
mod text;

/// One function under test.
pub struct Target {
    /// Name on the command line and in the seeds' folder.
    pub name: &'static str,
    /// Runs the function on an input. A panic is a defect.
    pub run: fn(&[u8]),
    /// Valid inputs to start from.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Approximate duration of one run, as a multiple of the fastest target's.
    pub weight: u32,
}

/// All targets.
pub const TARGETS: [Target; 11] = [
    Target { name: "http", run: front::http, seeds: front::http_seeds, weight: 20 },
    Target { name: "envelope", run: front::envelope, seeds: front::envelope_seeds, weight: 20 },
    Target { name: "component", run: component::upload, seeds: component::seeds, weight: 400 },
    Target { name: "export", run: stored::export, seeds: stored::export_seeds, weight: 4 },
    Target { name: "records", run: stored::records, seeds: stored::records_seeds, weight: 1 },
    Target { name: "bundle", run: bundle::read, seeds: bundle::seeds, weight: 8 },
    Target { name: "token", run: text::token, seeds: text::token_seeds, weight: 2 },
    Target { name: "cron", run: text::cron, seeds: text::cron_seeds, weight: 4 },
    Target { name: "entries", run: restate::entries, seeds: restate::entries_seeds, weight: 4 },
    Target { name: "commands", run: restate::commands, seeds: restate::commands_seeds, weight: 4 },
    Target { name: "manifest", run: restate::manifest, seeds: restate::manifest_seeds, weight: 4 },
];

/// Returns the target with this name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
