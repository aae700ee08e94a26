//! The limit on the log of one call, by its imports and its standard output and error together.
//!
//! Lines stay in memory until they are committed with the rest of the call. A call that logs
//! without end would fill the host's memory: beyond the limit its lines are dropped, and one line
//! reports that. The call does not fail: logging has no effect on the execution, not even in a
//! replay, where the same lines are dropped.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::{
    Level,
    panics::{PANIC_BYTES, is_panic},
    policy::Secrets,
    text::cut,
};

/// Memory of a line beside its text, in bytes: many empty lines fill the memory as well.
const LINE_BYTES: usize = 64;

/// The limits of one instance; clones share them.
#[derive(Clone)]
pub(super) struct LogBudget(Arc<SharedLogBudget>);

struct SharedLogBudget {
    call_limit: usize,
    line_limit: usize,
    call: Mutex<CallLogUse>,
    /// Secrets that no line may contain.
    secrets: OnceLock<Arc<Secrets>>,
}

#[derive(Default)]
struct CallLogUse {
    used: usize,
    /// True once the line that reports dropped lines was logged.
    is_over: bool,
    /// True if no line is logged any more.
    is_closed: bool,
    /// The line of a panic, which is reported with the trap that follows.
    panic: Option<String>,
}

impl LogBudget {
    /// Allows `call_limit` bytes per call and `line_limit` bytes per line.
    pub(super) fn new(call_limit: usize, line_limit: usize) -> Self {
        let (call, secrets) = (Mutex::default(), OnceLock::new());
        Self(Arc::new(SharedLogBudget { call_limit, line_limit, call, secrets }))
    }

    /// Replaces the values of `secrets` by `{secret:NAME}` from now on. Only the first call has an
    /// effect.
    pub(super) fn hide(&self, secrets: Arc<Secrets>) {
        self.0.secrets.get_or_init(|| secrets);
    }

    /// Maximum length of a line, in bytes.
    pub(super) fn line_limit(&self) -> usize {
        self.0.line_limit
    }

    /// Resets the count for a new call.
    pub(super) fn begin_call(&self) {
        *self.call() = CallLogUse::default();
    }

    /// Drops the lines of the rest of this call.
    pub(super) fn close(&self) {
        self.call().is_closed = true;
    }

    /// The line of this call's panic. `None` if it did not panic.
    pub(super) fn panic(&self) -> Option<String> {
        self.call().panic.clone()
    }

    /// Decides the line to log in place of `line`: the line itself, cut at its limit, while the
    /// call is within its own limit; then one notice; then `None`. The first panic line of a call
    /// is always logged.
    pub(super) fn admit(&self, level: Level, line: String) -> Option<(Level, String)> {
        let line = match self.0.secrets.get() {
            Some(secrets) => secrets.hide(&line).into_owned(),
            None => line,
        };
        let mut call = self.call();
        if call.is_closed {
            return None;
        }
        if call.panic.is_none() && is_panic(level, &line) {
            let line = cut(line, PANIC_BYTES.min(self.0.line_limit));
            call.panic = Some(line.clone());
            return Some((level, line));
        }
        if call.is_over {
            return None;
        }
        let line = cut(line, self.0.line_limit);
        let used = call.used + line.len() + LINE_BYTES;
        if used <= self.0.call_limit {
            call.used = used;
            return Some((level, line));
        }
        call.is_over = true;
        let limit = self.0.call_limit;
        let notice = format!(
            "the rest of the log of this call is dropped: it is longer than {limit} bytes (`limits.log_bytes`)"
        );
        Some((Level::Warn, notice))
    }

    fn call(&self) -> std::sync::MutexGuard<'_, CallLogUse> {
        self.0.call.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_let_through_until_the_room_is_used_up_and_then_once_that_it_is() {
        let room = LogBudget::new(3 * LINE_BYTES, 8);
        let admit = |line: &str| room.admit(Level::Info, line.into()).map(|(_, line)| line);
        for _ in 0..2 {
            room.begin_call();
            assert_eq!(admit("a").as_deref(), Some("a"));
            assert_eq!(admit("0123456789").as_deref(), Some("01234567…"));
            let notice = admit("0123456789").expect("it is said once");
            assert!(notice.contains("192 bytes (`limits.log_bytes`)"), "{notice}");
            assert_eq!(admit(""), None);
        }
    }

    #[test]
    fn the_first_panic_of_a_call_is_let_through_and_kept() {
        let room = LogBudget::new(0, 30);
        let admit = |line: &str| room.admit(Level::Error, line.into()).map(|(_, line)| line);
        for _ in 0..2 {
            room.begin_call();
            assert_eq!(room.panic(), None);
            assert!(admit("too much").is_some_and(|line| line.contains("dropped")));
            let line = "panicked at src/lib.rs:1:2:\nžluťoučký";
            let kept = "panicked at src/lib.rs:1:2:\nž…";
            assert_eq!(admit(line).as_deref(), Some(kept));
            assert_eq!(admit(line), None, "once is enough");
            assert_eq!(room.panic().as_deref(), Some(kept));
        }
    }
}
