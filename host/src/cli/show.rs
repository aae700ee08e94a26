//! Output that several commands share.

use anstyle::Style;
use comfy_table::Color;
pub(super) use segno_api::model::short_target;
use segno_api::model::{
    FailureView, ForkedFrom, InvocationState, Note, PromiseState, function_label,
};
use segno_guest::BacktraceFrame;
use serde::Deserialize as _;
use serde_json::Value;

pub(super) use super::text::plain;
use super::{
    CliError, Console,
    console::{CYAN, DIM, GREEN, RED, YELLOW},
    table::TextCell,
    text,
};

/// The colour of a state.
pub(super) fn state_style(state: InvocationState) -> Style {
    match state {
        InvocationState::Pending | InvocationState::Suspended => DIM,
        InvocationState::Acquired => CYAN,
        InvocationState::Halted | InvocationState::Cancelled => YELLOW,
        InvocationState::Resolved => GREEN,
        InvocationState::Rejected | InvocationState::TimedOut => RED,
    }
}

/// A state in a table.
pub(super) fn state_cell(state: InvocationState, is_killed: bool) -> TextCell {
    let color = match state {
        InvocationState::Pending | InvocationState::Suspended => None,
        InvocationState::Acquired => Some(Color::Cyan),
        InvocationState::Halted | InvocationState::Cancelled => Some(Color::Yellow),
        InvocationState::Resolved => Some(Color::Green),
        InvocationState::Rejected | InvocationState::TimedOut => Some(Color::Red),
    };
    TextCell::colored(state_name(state, is_killed), color)
}

/// The name of a state; a killed invocation counts as cancelled, but was not asked to clean up.
pub(super) fn state_name(state: InvocationState, is_killed: bool) -> &'static str {
    if is_killed { "killed" } else { state.as_str() }
}

/// The colour of a promise's state.
pub(super) fn promise_style(state: PromiseState) -> Style {
    match state {
        PromiseState::Pending => DIM,
        PromiseState::Resolved => GREEN,
        PromiseState::Cancelled => YELLOW,
        PromiseState::Rejected | PromiseState::TimedOut => RED,
    }
}

/// A promise's state in a table.
pub(super) fn promise_cell(state: PromiseState) -> TextCell {
    let color = match state {
        PromiseState::Pending => None,
        PromiseState::Resolved => Some(Color::Green),
        PromiseState::Cancelled => Some(Color::Yellow),
        PromiseState::Rejected | PromiseState::TimedOut => Some(Color::Red),
    };
    TextCell::colored(state.as_str(), color)
}

/// Width before the text of a fact, in columns.
pub(super) const INDENT: usize = 12;

/// Prints the facts about one object, one per line.
pub(super) fn facts(lines: Vec<(&str, String)>, console: &mut Console) -> Result<(), CliError> {
    for (name, text) in lines {
        // Even the longest names are followed by a blank.
        let name = console.paint(DIM, &format!("{:<10}", format!("{name} ")));
        console.paragraph(&format!("  {name}"), &text, INDENT)?;
    }
    Ok(())
}

/// A function for display: its address, and its name for external workers.
pub(super) fn function(target: &str, function: Option<&str>) -> String {
    plain(&function_label(target, function))
}

/// A digest for display: long enough to distinguish modules.
pub(super) fn short_digest(digest: &str) -> &str {
    digest.get(..12).unwrap_or(digest)
}

/// The origin of an invocation that was forked from the records of another one.
pub(super) fn forked_from(from: &ForkedFrom) -> String {
    let set: Vec<String> = from.set.iter().map(|command| format!("#{command}")).collect();
    let given = if set.is_empty() { String::new() } else { format!(", given {}", set.join(" ")) };
    format!("from record {} of {}{given}", from.records, plain(&from.id))
}

/// A value as the text of a fact, on one line.
pub(super) fn value(value: &Value, console: &Console) -> String {
    console.fit(&text::tame_json(value.to_string()), INDENT)
}

/// A failure as a sentence.
pub(super) fn failure_line(failure: &FailureView) -> String {
    plain(&failure.line())
}

/// Formats as `2 attempts failed, the last one with 500: no room`. `None` if none did.
pub(super) fn failed_attempts(count: u32, last_error: Option<&str>) -> Option<String> {
    let (attempts, last) = match count {
        0 => return None,
        1 => ("1 attempt failed".to_owned(), ""),
        _ => (format!("{count} attempts failed"), ", the last one"),
    };
    Some(match last_error.map(|error| (of_attempt(error), error)) {
        None => attempts,
        Some((Some(reason), _)) => format!("{attempts}{last} with {}", plain(reason)),
        Some((None, error)) => format!("{attempts}{last}: {}", plain(error)),
    })
}

/// The code and message of a failure, from `failure: attempt 2 failed with 500: no room`. `None`
/// for another error.
fn of_attempt(error: &str) -> Option<&str> {
    let (number, reason) = error.strip_prefix("failure: attempt ")?.split_once(" failed with ")?;
    number.parse::<u32>().is_ok().then_some(reason)
}

/// A size in bytes, with a unit.
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        0..1_024 => format!("{bytes} B"),
        1_024..1_048_576 => format!("{}.{} KiB", bytes / 1_024, bytes % 1_024 * 10 / 1_024),
        _ => format!("{}.{} MiB", bytes / 1_048_576, bytes % 1_048_576 * 10 / 1_048_576),
    }
}

/// Text of guests or clients in several lines; further lines are indented by `indent` spaces.
pub(super) fn plain_lines(text: &str, indent: usize) -> String {
    let lines: Vec<String> = text.lines().map(|line| plain(&line.replace('\t', "    "))).collect();
    lines.join(&format!("\n{:indent$}", ""))
}

/// Prints the last error of an invocation, with the frames of its author's code.
pub(super) fn note(note: &Note, console: &mut Console) -> Result<(), CliError> {
    let lead = console.paint(RED, &format!("{}:", plain(&note.kind)));
    console.paragraph(&format!("  {lead} "), &plain_lines(&note.message, 0), 4)?;
    frames(note.details.as_ref(), console)
}

/// Prints the frames of the author's code at which an invocation stopped.
pub(super) fn frames(details: Option<&Value>, console: &mut Console) -> Result<(), CliError> {
    let frames = details.and_then(|details| details.get("frames"));
    let frames = frames.and_then(|frames| Vec::<BacktraceFrame>::deserialize(frames).ok());
    for BacktraceFrame { function, file, line, .. } in frames.unwrap_or_default() {
        let place = match (file, line) {
            (Some(file), Some(line)) => format!("{file}:{line}"),
            (Some(file), None) => file,
            (None, _) => String::new(),
        };
        let function = match (function.as_str(), place.as_str()) {
            ("", _) => String::new(),
            (function, "") => format!("in {function}"),
            (function, _) => format!(" in {function}"),
        };
        let frame = console.fit(&plain(&(place + &function)), 4);
        console.line(format!("    {}", console.paint(DIM, &frame)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blank_follows_each_name_of_a_fact() {
        let out = crate::cli::tests::WrittenBytes::default();
        let mut console = Console::plain(out.clone(), Vec::new(), false);
        let lines = vec![("due", "now".to_owned()), ("generation", "2 of 3".to_owned())];
        facts(lines, &mut console).expect("it is written");
        assert_eq!(out.text(), "  due       now\n  generation 2 of 3\n");
    }

    #[test]
    fn texts_are_in_the_form_for_people() {
        assert_eq!(plain_lines("one\n\ttwo\u{1b}[0m", 2), "one\n      two\u{fffd}[0m");
        assert_eq!(size(0), "0 B");
        assert_eq!(size(1_536), "1.5 KiB");
        assert_eq!(size(7 * 1_048_576), "7.0 MiB");
        assert_eq!(short_digest("abc"), "abc");
        assert_eq!(function("wasm://shop/ship", Some("ship")), "shop/ship");
        assert_eq!(function("wasm:///ship", Some("ship")), "ship");
        assert_eq!(function("segno:http", Some("http")), "segno:http");
        assert_eq!(function("poll://any@g", Some("pack")), "poll://any@g#pack");
        assert_eq!(function("http://here/x", None), "http://here/x");
    }
}
