//! Splits a guest's standard output and error into log lines.

use std::{
    io,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use async_trait::async_trait;
use bytes::Bytes;
use tokio::io::AsyncWrite;
use wasmtime_wasi::{
    cli::{IsTerminal, StdoutStream},
    p2::{OutputStream, Pollable, StreamResult},
};

use super::{Level, log_room::LogBudget, text::cut};

/// Callback that receives one line.
pub(super) type LineSink = Box<dyn Fn(Level, String) + Send>;

/// Maximum size of one write, in bytes.
const CHUNK: usize = 64 << 10;
/// Maximum size of the last words, in bytes: a message and some lines of a stack trace.
const LAST_WORDS: usize = 2 << 10;

/// A stream of lines; clones share the incomplete line.
#[derive(Clone)]
pub(super) struct LineStream {
    shared: Arc<Mutex<IncompleteLine>>,
}

struct IncompleteLine {
    level: Level,
    room: LogBudget,
    line: Vec<u8>,
    /// The last lines of this call, up to `LAST_WORDS` bytes.
    last: String,
    sink: LineSink,
}

impl LineStream {
    /// Sends lines to `sink` at `level`, within the limits of `room`.
    pub(super) fn new(level: Level, room: LogBudget, sink: LineSink) -> Self {
        let unended = IncompleteLine { level, room, line: Vec::new(), last: String::new(), sink };
        Self { shared: Arc::new(Mutex::new(unended)) }
    }

    /// Takes the last lines since the previous call of this function: the output of a guest before
    /// an abort is its reason.
    pub(super) fn last_words(&self) -> String {
        let mut unended = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut unended.last)
    }

    /// Ends the incomplete line, if any.
    pub(super) fn flush(&self) {
        let mut unended = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if !unended.line.is_empty() {
            unended.end_line();
        }
    }

    fn push(&self, bytes: &[u8]) {
        let mut unended = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (part, ended) = match part.strip_suffix(b"\n") {
                Some(part) => (part, true),
                None => (part, false),
            };
            // Beyond the limit, it only matters that there was more.
            let room = (unended.room.line_limit() + 4).saturating_sub(unended.line.len());
            unended.line.extend_from_slice(&part[..part.len().min(room)]);
            if ended {
                unended.end_line();
            }
        }
    }
}

impl IncompleteLine {
    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned();
        let text = cut(text, self.room.line_limit());
        // The last words are reported with a trap, even if they are beyond the limit.
        self.remember(&text);
        if let Some((level, text)) = self.room.admit(self.level, text) {
            (self.sink)(level, text);
        }
    }

    fn remember(&mut self, line: &str) {
        if !self.last.is_empty() {
            self.last.push('\n');
        }
        self.last.push_str(line);
        let surplus = self.last.len().saturating_sub(LAST_WORDS);
        if surplus > 0 {
            let from = (surplus..=self.last.len()).find(|at| self.last.is_char_boundary(*at));
            self.last.drain(..from.expect("the end is a boundary"));
        }
    }
}

impl IsTerminal for LineStream {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for LineStream {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[async_trait]
impl Pollable for LineStream {
    async fn ready(&mut self) {}
}

impl OutputStream for LineStream {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.push(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(CHUNK)
    }
}

impl AsyncWrite for LineStream {
    fn poll_write(
        self: Pin<&mut Self>,
        _context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.push(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(parts: &[&str]) -> Vec<String> {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&kept);
        let lines = LineStream::new(
            Level::Info,
            LogBudget::new(1_000, 8),
            Box::new(move |_, line| sink.lock().expect("not poisoned").push(line)),
        );
        for part in parts {
            lines.push(part.as_bytes());
        }
        lines.flush();
        kept.lock().expect("not poisoned").clone()
    }

    #[test]
    fn lines_are_whole_however_they_are_written() {
        assert_eq!(written(&["one\ntw", "o\n", "\n", "rest"]), ["one", "two", "", "rest"]);
    }

    #[test]
    fn the_last_words_are_bounded_and_told_once() {
        let lines = LineStream::new(Level::Warn, LogBudget::new(0, 1_000), Box::new(|_, _| {}));
        lines.push(b"early\n");
        assert_eq!(lines.last_words(), "early");
        assert_eq!(lines.last_words(), "");
        for _ in 0..10 {
            lines.push("ž".repeat(200).as_bytes());
            lines.push(b"\n");
        }
        lines.push(b"the reason\nand not ended");
        let last = lines.last_words();
        assert!(last.len() <= LAST_WORDS && last.ends_with("\nthe reason"), "{last}");
    }

    #[test]
    fn a_long_line_is_cut() {
        assert_eq!(written(&["12345678\n"]), ["12345678"]);
        assert_eq!(written(&["123456789", "0123456789\nnext\n"]), ["12345678…", "next"]);
    }
}
