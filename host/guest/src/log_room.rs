//! How much one call may log, by its imports and its standard output and error together.
//!
//! Lines are kept in memory until they are committed with what else the call did. A call that logs for ever would fill
//! the memory of the host: beyond the limit its lines are dropped, and one line says so. It does not fail for it: a log
//! changes nothing, in a replay neither, where the same lines are dropped.

use std::sync::{Arc, Mutex, PoisonError};

use super::{Level, workflow::cut};

/// What a line takes beside its text, in bytes: empty lines fill a memory as well.
const LINE_BYTES: usize = 64;

/// The room of one instance; clones share it.
#[derive(Clone)]
pub(super) struct LogRoom(Arc<Shared>);

struct Shared {
    call_limit: usize,
    line_limit: usize,
    call: Mutex<Call>,
}

#[derive(Default)]
struct Call {
    used: usize,
    /// The line that says that others are dropped was let through.
    is_over: bool,
}

impl LogRoom {
    /// For calls that log at most `call_limit` bytes, in lines of at most `line_limit` bytes.
    pub(super) fn new(call_limit: usize, line_limit: usize) -> Self {
        Self(Arc::new(Shared { call_limit, line_limit, call: Mutex::default() }))
    }

    /// The longest line in bytes.
    pub(super) fn line_limit(&self) -> usize {
        self.0.line_limit
    }

    /// All the room is free again.
    pub(super) fn begin_call(&self) {
        *self.call() = Call::default();
    }

    /// What is to be logged in place of this line, if anything: the line, cut at its limit, while there is room, and then
    /// once that there is none.
    pub(super) fn admit(&self, level: Level, line: String) -> Option<(Level, String)> {
        let mut call = self.call();
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

    fn call(&self) -> std::sync::MutexGuard<'_, Call> {
        self.0.call.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_let_through_until_the_room_is_used_up_and_then_once_that_it_is() {
        let room = LogRoom::new(3 * LINE_BYTES, 8);
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
}
