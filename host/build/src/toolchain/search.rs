//! Chooses a source: the first that is ready, otherwise the first that can be prepared.

use std::fmt::Write as _;

use super::{Toolchain, ToolchainSource};
use crate::{BuildProgress, CacheError, TARGET};

/// Reason why there is no toolchain.
#[derive(Debug, thiserror::Error)]
pub enum ToolchainError {
    /// The environment names a source that does not exist.
    #[error("`{variable}` is `{name}`, which is not one of native, rust-src, rustup, debian")]
    UnknownRoad {
        /// Name of the environment variable.
        variable: &'static str,
        /// Value of that variable.
        name: String,
    },
    /// No source has a toolchain.
    #[error("{}", explain(attempts, *prepared))]
    None {
        /// All sources tried, in order.
        attempts: Vec<SkippedSource>,
        /// True if preparing was allowed.
        prepared: bool,
    },
    /// The cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

/// A source that was not used, with the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedSource {
    pub road: ToolchainSource,
    pub reason: String,
    /// True if `--prepare` would try this source.
    pub preparable: bool,
}

/// Reason why a source has no ready toolchain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unavailable {
    /// Preparing may provide one; the text describes the preparation.
    Unprepared(String),
    /// Preparing cannot provide one; the text gives the reason.
    Shut(String),
}

impl Unavailable {
    pub(super) fn shut(reason: impl Into<String>) -> Self {
        Self::Shut(reason.into())
    }
}

/// A toolchain source, for the search.
pub(super) trait Strategy {
    fn road(&self) -> ToolchainSource;

    /// The ready toolchain of this source, if there is one. Changes nothing.
    fn finished(&self) -> Result<Toolchain, Unavailable>;

    /// Prepares the toolchain. Called only if [`Strategy::finished`] returned
    /// [`Unavailable::Unprepared`]. Fails with a reason.
    fn prepare(&self, progress: &dyn BuildProgress) -> Result<Toolchain, String>;
}

/// Checks all sources before preparing any, so that a ready toolchain is never skipped in favour of
/// a long preparation.
pub(super) fn choose(
    ways: &[&dyn Strategy],
    prepare: bool,
    progress: &dyn BuildProgress,
) -> Result<Toolchain, ToolchainError> {
    let mut attempts = Vec::with_capacity(ways.len());
    for way in ways {
        let (reason, preparable) = match way.finished() {
            Ok(toolchain) => return Ok(toolchain),
            Err(Unavailable::Unprepared(reason)) => (reason, true),
            Err(Unavailable::Shut(reason)) => (reason, false),
        };
        attempts.push(SkippedSource { road: way.road(), reason, preparable });
    }
    if prepare {
        for (way, attempt) in
            ways.iter().zip(&mut attempts).filter(|(_, attempt)| attempt.preparable)
        {
            match way.prepare(progress) {
                Ok(toolchain) => return Ok(toolchain),
                Err(reason) => {
                    progress.step(&format!("the road `{}` failed: {reason}", way.road()));
                    attempt.reason = reason;
                }
            }
        }
    }
    Err(ToolchainError::None { attempts, prepared: prepare })
}

fn explain(attempts: &[SkippedSource], prepared: bool) -> String {
    let mut text = format!("there is no way to compile Rust to {TARGET}:");
    for SkippedSource { road, reason, .. } in attempts {
        write!(text, "\n  {road:<9} {reason}").expect("writing to a string does not fail");
    }
    let install = format!("`rustup target add {TARGET}`");
    if !prepared && attempts.iter().any(|attempt| attempt.preparable) {
        text += &format!("\nadd `--prepare` to let segno do that, or type {install}");
    } else {
        text += &format!("\ntype {install}, or install Rust with this target in your system's way");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    struct Fake<'a> {
        road: ToolchainSource,
        finished: Result<(), Unavailable>,
        prepare: Result<(), &'static str>,
        calls: &'a RefCell<Vec<String>>,
    }

    impl Fake<'_> {
        fn toolchain(&self) -> Toolchain {
            Toolchain { road: self.road, rustc: None, sysroot: None, version: "rustc 1".to_owned() }
        }
    }

    impl Strategy for Fake<'_> {
        fn road(&self) -> ToolchainSource {
            self.road
        }

        fn finished(&self) -> Result<Toolchain, Unavailable> {
            self.calls.borrow_mut().push(format!("look {}", self.road));
            self.finished.clone().map(|()| self.toolchain())
        }

        fn prepare(&self, _: &dyn BuildProgress) -> Result<Toolchain, String> {
            self.calls.borrow_mut().push(format!("prepare {}", self.road));
            self.prepare.map(|()| self.toolchain()).map_err(str::to_owned)
        }
    }

    fn shut() -> Result<(), Unavailable> {
        Err(Unavailable::shut("not here"))
    }

    fn unprepared() -> Result<(), Unavailable> {
        Err(Unavailable::Unprepared("would build".to_owned()))
    }

    type Case = (ToolchainSource, Result<(), Unavailable>, Result<(), &'static str>);

    fn search(cases: [Case; 3], prepare: bool) -> (Result<ToolchainSource, String>, String) {
        let calls = RefCell::default();
        let fakes =
            cases.map(|(road, finished, prepare)| Fake { road, finished, prepare, calls: &calls });
        let ways: Vec<&dyn Strategy> = fakes.iter().map(|fake| fake as &dyn Strategy).collect();
        let found = choose(&ways, prepare, &|_: &str| ());
        let found = found.map(|toolchain| toolchain.road).map_err(|error| error.to_string());
        let calls = calls.borrow().join(", ");
        (found, calls)
    }

    #[test]
    fn a_finished_road_is_taken_before_an_earlier_one_is_prepared() {
        let (found, calls) = search(
            [
                (ToolchainSource::Native, shut(), Err("never")),
                (ToolchainSource::Rustup, unprepared(), Ok(())),
                (ToolchainSource::Debian, Ok(()), Err("never")),
            ],
            true,
        );
        assert_eq!(found, Ok(ToolchainSource::Debian));
        assert_eq!(calls, "look native, look rustup, look debian");
    }

    #[test]
    fn a_road_that_fails_leads_to_the_next_that_can_be_prepared() {
        let (found, calls) = search(
            [
                (ToolchainSource::Native, shut(), Err("never")),
                (ToolchainSource::Rustup, unprepared(), Err("no network")),
                (ToolchainSource::Debian, unprepared(), Ok(())),
            ],
            true,
        );
        assert_eq!(found, Ok(ToolchainSource::Debian));
        assert_eq!(calls, "look native, look rustup, look debian, prepare rustup, prepare debian");
    }

    #[test]
    fn nothing_is_prepared_unasked_and_the_error_says_how_to_ask() {
        let (found, calls) = search(
            [
                (ToolchainSource::Native, shut(), Err("never")),
                (ToolchainSource::Rustup, unprepared(), Ok(())),
                (ToolchainSource::Debian, shut(), Err("never")),
            ],
            false,
        );
        assert_eq!(calls, "look native, look rustup, look debian");
        assert_eq!(
            found.unwrap_err(),
            "there is no way to compile Rust to wasm32-unknown-unknown:\n  \
             native    not here\n  \
             rustup    would build\n  \
             debian    not here\n\
             add `--prepare` to let segno do that, or type `rustup target add wasm32-unknown-unknown`"
        );
    }

    #[test]
    fn when_all_fail_each_reason_is_the_one_of_its_attempt() {
        let (found, _) = search(
            [
                (ToolchainSource::Native, shut(), Err("never")),
                (ToolchainSource::Rustup, unprepared(), Err("no network")),
                (ToolchainSource::Debian, unprepared(), Err("too old")),
            ],
            true,
        );
        assert_eq!(
            found.unwrap_err(),
            "there is no way to compile Rust to wasm32-unknown-unknown:\n  \
             native    not here\n  \
             rustup    no network\n  \
             debian    too old\n\
             type `rustup target add wasm32-unknown-unknown`, or install Rust with this target in your system's way"
        );
    }
}
