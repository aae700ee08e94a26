//! The details in the note of a trap, for programs and their displays: the guest's stack and its
//! last log lines.

use std::sync::PoisonError;

use segno_core::invocation::LogLine;
use segno_guest::{Backtrace, BacktraceFrame};
use serde::{Deserialize, Serialize};

use super::recording::SharedRecorder;

/// Maximum size in bytes of the kept log lines, which are the last ones.
const LOG_BYTES: usize = 8 << 10;
/// The size in bytes that a line counts in addition to its text.
const LINE_BYTES: usize = 64;

/// The details of a trap's note, as JSON:
///
/// ```json
/// {
///   "backtrace": "0: 0x1f3 - shop::order\n     at src/lib.rs:12:9",
///   "frames": [{ "function": "order", "file": "src/lib.rs", "line": 12, "column": 9 }],
///   "log": [{ "level": 4, "at_ms": 1760000000000, "message": "no stock" }]
/// }
/// ```
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TrapReport {
    /// All frames as text, the innermost first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backtrace: Option<String>,
    /// The frames of the author's own code.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<BacktraceFrame>,
    /// The last lines that a workflow logged since its last commit. They are not part of its log:
    /// the work of a trapped attempt is undone, and the next attempt logs them again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<TrapLine>,
}

/// A line that was logged before a trap.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrapLine {
    /// The level, in the stored form of log lines.
    pub level: u8,
    /// The logical time.
    pub at_ms: i64,
    /// The text.
    pub message: String,
}

impl TrapReport {
    /// The report of a trap with this stack, in an execution with this recorder.
    pub fn new(backtrace: Option<&Backtrace>, recorder: Option<&SharedRecorder>) -> Self {
        Self {
            backtrace: backtrace.map(|backtrace| backtrace.text.clone()),
            frames: backtrace.map(|backtrace| backtrace.own.clone()).unwrap_or_default(),
            log: recorder.map(uncommitted).unwrap_or_default(),
        }
    }

    /// The report in a note. `None` if the note is not about a trap.
    pub fn read(details: &[u8]) -> Option<Self> {
        serde_json::from_slice(details).ok()
    }

    /// The details of a note. `None` if there is nothing to report.
    pub fn details(&self) -> Option<serde_json::Value> {
        (*self != Self::default())
            .then(|| serde_json::to_value(self).expect("texts and numbers can be written as JSON"))
    }
}

/// The last uncommitted log lines, up to the size limit.
fn uncommitted(recorder: &SharedRecorder) -> Vec<TrapLine> {
    let recorder = recorder.lock().unwrap_or_else(PoisonError::into_inner);
    last(&recorder.batch().logs)
}

fn last(lines: &[LogLine]) -> Vec<TrapLine> {
    let mut room = LOG_BYTES;
    let fits = |line: &&LogLine| {
        let left = room.checked_sub(line.message.len() + LINE_BYTES);
        room = left.unwrap_or(0);
        left.is_some()
    };
    let mut kept: Vec<TrapLine> = lines
        .iter()
        .rev()
        .take_while(fits)
        .map(|line| TrapLine {
            level: line.level.number(),
            at_ms: line.at.0,
            message: line.message.to_string(),
        })
        .collect();
    kept.reverse();
    kept
}

#[cfg(test)]
mod tests {
    use segno_core::{invocation::LogLevel, time::Timestamp};

    use super::*;

    fn line(seq: u32, message: String) -> LogLine {
        LogLine { seq, level: LogLevel::Error, at: Timestamp(7), message: message.into() }
    }

    #[test]
    fn the_last_lines_are_kept_as_far_as_there_is_room() {
        let lines: Vec<LogLine> =
            (0..50).map(|seq| line(seq, format!("{seq} {}", "a".repeat(4_000)))).collect();
        let kept = last(&lines);
        let begins: Vec<&str> = kept.iter().map(|line| &line.message[..3]).collect();
        assert_eq!(begins, ["48 ", "49 "]);
        assert_eq!((kept[0].level, kept[0].at_ms), (LogLevel::Error.number(), 7));
        assert_eq!(last(&[line(0, "a".repeat(LOG_BYTES))]), []);
    }

    #[test]
    fn a_report_is_read_as_it_was_written_and_old_ones_without_frames_are_read_as_well() {
        let report = TrapReport { log: last(&[line(0, "no stock".into())]), ..Default::default() };
        let details = report.details().expect("there is something").to_string();
        assert_eq!(TrapReport::read(details.as_bytes()), Some(report));
        let old = TrapReport::read(br#"{"backtrace":"0: 0x1f3 - shop::order"}"#);
        assert_eq!(old.and_then(|old| old.backtrace).as_deref(), Some("0: 0x1f3 - shop::order"));
        assert_eq!(TrapReport::read(b""), None);
        assert_eq!(TrapReport::default().details(), None);
    }
}
