//! The place in the author's code of a command at which the host stops an interpreter: its wasm
//! stack has no frame of the author.
//!
//! The host answers such a command with [`STOPPED`] in place of an index. The shim then logs
//! [`LEAD`] and a frame per line, `at FUNCTION (FILE:LINE)`, the innermost first. With that line,
//! with any other request, or at its end the call is stopped, so a shim that does not know the
//! index loses only the place.

use super::{
    BacktraceFrame, GuestCommand, GuestError, JournalAnswer, JournalCall, RunAnswer, StopReason,
    backtrace::{Backtrace, FRAMES, NAME_BYTES},
    text::cut,
};

/// The index of a command at which the guest is stopped.
const STOPPED: u32 = u32::MAX - 1;
/// The first line of the text with the frames.
const LEAD: &str = "asked at";

/// The stop that a module of an interpreter answers with its place.
pub(super) struct CommandPlace {
    /// True for modules that are run by an interpreter.
    is_asked: bool,
    stop: Option<StopReason>,
    frames: Vec<BacktraceFrame>,
}

impl CommandPlace {
    pub(super) fn new(is_asked: bool) -> Self {
        Self { is_asked, stop: None, frames: Vec::new() }
    }

    /// The pending stop. `None` if the guest may continue.
    pub(super) fn stop(&self) -> Option<&StopReason> {
        self.stop.as_ref()
    }

    /// The answer to a request that asks the guest for its place, in case the journal stops it.
    /// `None` for requests without an index in their answer.
    pub(super) fn question(&self, ask: &JournalCall) -> Option<JournalAnswer> {
        let JournalCall::Command(command) = ask else { return None };
        let answer = match command {
            GuestCommand::Unread(_) | GuestCommand::ContinueAsNew(_) => return None,
            GuestCommand::Promise(_) => JournalAnswer::Promise(STOPPED, String::new()),
            GuestCommand::Run(_) => JournalAnswer::Run(RunAnswer::Recorded(STOPPED)),
            _ => JournalAnswer::Command(STOPPED),
        };
        self.is_asked.then_some(answer)
    }

    /// Keeps the stop until the guest has told its place.
    pub(super) fn put_off(&mut self, stop: StopReason) {
        self.stop = Some(stop);
    }

    /// Reads the place from a logged text.
    pub(super) fn read(&mut self, text: &str) {
        if let Some(frames) = text.strip_prefix(LEAD) {
            self.frames = frames.lines().filter_map(frame).take(FRAMES).collect();
        }
    }

    /// The error of a call that ended, with `backtrace` if it trapped. `None` if it was not
    /// stopped.
    pub(super) fn end(&mut self, backtrace: Option<Backtrace>) -> Option<GuestError> {
        let stop = self.stop.take()?;
        let own = std::mem::take(&mut self.frames);
        let text = backtrace.map_or_else(String::new, |backtrace| backtrace.text);
        Some(GuestError::Stopped { stop, backtrace: Some(Backtrace { text, own }) })
    }
}

/// A line of a stack.
pub(super) struct StackLine<'a> {
    pub(super) function: &'a str,
    pub(super) file: &'a str,
    pub(super) line: u32,
    pub(super) column: Option<u32>,
}

/// Reads `at FUNCTION (FILE:LINE)` or `at FILE:LINE`, with or without a column.
pub(super) fn stack_line(text: &str) -> Option<StackLine<'_>> {
    let text = text.trim().strip_prefix("at ")?;
    let (function, place) = match text.strip_suffix(')').and_then(|text| text.rsplit_once('(')) {
        Some((function, place)) => (function.trim_end(), place),
        None => ("", text),
    };
    let (rest, last) = place.rsplit_once(':')?;
    let last: u32 = last.parse().ok()?;
    let with_column = rest.rsplit_once(':');
    let with_column = with_column.and_then(|(file, line)| Some((file, line.parse().ok()?)));
    let (file, line, column) = match with_column {
        Some((file, line)) => (file, line, Some(last)),
        None => (rest, last, None),
    };
    Some(StackLine { function, file, line, column })
}

/// A frame of a shim.
fn frame(text: &str) -> Option<BacktraceFrame> {
    let StackLine { function, file, line, column } = stack_line(text)?;
    Some(BacktraceFrame {
        function: cut(function.to_owned(), NAME_BYTES),
        file: Some(cut(file.to_owned(), NAME_BYTES)),
        line: Some(line),
        column,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_as_shims_write_them() {
        let mut place = CommandPlace::new(true);
        place.put_off(StopReason::Divergence);
        place.read("asked at\n    at price (src/a b.ts:30)\n    at app.py:7:9\n    at nothing\n");
        let ended = place.end(None).expect("it was stopped");
        let frame = |function: &str, file: &str, line, column| BacktraceFrame {
            function: function.into(),
            file: Some(file.into()),
            line: Some(line),
            column,
        };
        let own = &ended.backtrace().expect("it has told its place").own;
        let told = [frame("price", "src/a b.ts", 30, None), frame("", "app.py", 7, Some(9))];
        assert_eq!(*own, told);
        assert!(place.end(None).is_none());
    }
}
