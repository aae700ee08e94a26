//! Runs a tool: passes its lines on as they arrive, keeps its output, and applies an optional time
//! limit.

use std::{
    io::{self, BufReader, Read},
    process::{Command, Stdio},
    sync::mpsc::{self, RecvTimeoutError, Sender},
    thread,
    time::Duration,
};

/// The output of a tool that has ended.
#[derive(Debug)]
pub(super) struct ToolOutput {
    pub success: bool,
    pub stdout: String,
    pub stderr: String,
}

impl ToolOutput {
    /// The last lines of the error stream, joined: they usually contain the reason of a failure.
    pub(crate) fn last_words(&self) -> String {
        let lines: Vec<&str> =
            self.stderr.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let last = lines[lines.len().saturating_sub(3)..].join("; ");
        if last.is_empty() { "it printed no error".to_owned() } else { last }
    }
}

/// Reason why a tool did not run to completion.
#[derive(Debug, thiserror::Error)]
pub enum ToolProcessError {
    /// The program could not be started.
    #[error("`{program}` could not be started")]
    Start {
        /// Name or path of the program.
        program: String,
        /// The system's error.
        source: io::Error,
    },
    /// The program was killed at its time limit.
    #[error("`{program}` was stopped after {} seconds without an answer", limit.as_secs())]
    TimedOut {
        /// Name or path of the program.
        program: String,
        limit: Duration,
    },
    /// The program was started, but its exit status is unknown.
    #[error("the end of `{program}` could not be awaited")]
    Wait {
        /// Name or path of the program.
        program: String,
        /// The system's error.
        source: io::Error,
    },
}

enum Event {
    Line(String),
    Output(String),
    ErrorsEnded,
    Overdue,
}

/// Runs `command` to completion. Passes each line of its error stream to `line` as it arrives.
pub(super) fn run(
    command: &mut Command,
    limit: Option<Duration>,
    line: &dyn Fn(&str),
) -> Result<ToolOutput, ToolProcessError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|source| ToolProcessError::Start { program: program.clone(), source })?;

    let (sender, events) = mpsc::channel();
    let (_running, ended) = mpsc::channel::<()>();
    let stdout = child.stdout.take().expect("stdout was asked to be piped");
    let stderr = child.stderr.take().expect("stderr was asked to be piped");
    thread::spawn({
        let sender = sender.clone();
        move || read_output(stdout, &sender)
    });
    thread::spawn({
        let sender = sender.clone();
        move || read_lines(stderr, &sender)
    });
    if let Some(limit) = limit {
        // Dropping `_running` ends the thread, so the timer does not outlive the call.
        thread::spawn(move || {
            if ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                sender.send(Event::Overdue).ok();
            }
        });
    }

    let (mut output, mut errors, mut errors_ended) = (None, String::new(), false);
    while output.is_none() || !errors_ended {
        match events.recv().expect("both readers say when they end") {
            Event::Line(text) => {
                line(&text);
                errors.push_str(&text);
                errors.push('\n');
            }
            Event::Output(text) => output = Some(text),
            Event::ErrorsEnded => errors_ended = true,
            Event::Overdue => {
                child.kill().ok();
                child.wait().ok();
                return Err(ToolProcessError::TimedOut {
                    program,
                    limit: limit.unwrap_or_default(),
                });
            }
        }
    }
    let status = child.wait().map_err(|source| ToolProcessError::Wait { program, source })?;
    Ok(ToolOutput { success: status.success(), stdout: output.unwrap_or_default(), stderr: errors })
}

fn read_output(mut stdout: impl Read, sender: &Sender<Event>) {
    let mut bytes = Vec::new();
    stdout.read_to_end(&mut bytes).ok();
    sender.send(Event::Output(String::from_utf8_lossy(&bytes).into_owned())).ok();
}

/// Sends each line to `sender`. A line ends with a line feed, or with the carriage return that
/// redraws a progress bar.
fn read_lines(stderr: impl Read, sender: &Sender<Event>) {
    let (mut line, mut returned) = (Vec::new(), false);
    for byte in BufReader::new(stderr).bytes().map_while(Result::ok) {
        let ends = matches!(byte, b'\n' | b'\r');
        if !ends {
            line.push(byte);
        } else if !line.is_empty() || (byte == b'\n' && !returned) {
            sender.send(Event::Line(String::from_utf8_lossy(&line).into_owned())).ok();
            line.clear();
        }
        returned = byte == b'\r';
    }
    if !line.is_empty() {
        sender.send(Event::Line(String::from_utf8_lossy(&line).into_owned())).ok();
    }
    sender.send(Event::ErrorsEnded).ok();
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn output_errors_and_status_are_kept_apart() {
        let seen = RefCell::new(Vec::new());
        let finished =
            run(&mut shell("echo out; echo one >&2; echo two >&2; exit 3"), None, &|line| {
                seen.borrow_mut().push(line.to_owned());
            })
            .unwrap();
        assert!(!finished.success);
        assert_eq!(finished.stdout, "out\n");
        assert_eq!(*seen.borrow(), ["one", "two"]);
        assert_eq!(finished.last_words(), "one; two");
    }

    #[test]
    fn a_line_ends_where_a_bar_is_drawn_anew() {
        let seen = RefCell::new(Vec::new());
        let script = r"printf '1/2\r2/2\rdone\r\n\nend' >&2";
        run(&mut shell(script), None, &|line| seen.borrow_mut().push(line.to_owned())).unwrap();
        assert_eq!(*seen.borrow(), ["1/2", "2/2", "done", "", "end"]);
    }

    #[test]
    fn a_tool_that_does_not_end_is_stopped_at_its_limit() {
        let error = run(&mut shell("exec sleep 600"), Some(Duration::from_millis(50)), &|_| ())
            .unwrap_err();
        assert!(matches!(error, ToolProcessError::TimedOut { .. }), "{error}");
    }

    #[test]
    fn a_tool_that_is_not_there_is_named() {
        let error = run(&mut Command::new("segno-no-such-tool"), None, &|_| ()).unwrap_err();
        assert_eq!(error.to_string(), "`segno-no-such-tool` could not be started");
    }
}
