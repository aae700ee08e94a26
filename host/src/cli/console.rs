//! Where a command speaks: answers on one stream, remarks on the other, colours and progress only for people.

use std::{
    io::{IsTerminal, Write},
    time::Duration,
};

use anstyle::{AnsiColor, Style};
use comfy_table::{Table, presets};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use super::{CliError, Color};

/// Progress is shown for what takes longer.
const PATIENCE: Duration = Duration::from_secs(1);

/// The two streams and how to use them.
pub struct Console {
    out: Box<dyn Write + Send>,
    err: Box<dyn Write + Send>,
    json: bool,
    styled: bool,
    styled_err: bool,
    progress: bool,
    speaks: bool,
}

impl Console {
    /// The process's own streams.
    pub fn system(json: bool, color: Color) -> Self {
        let styled = |is_terminal: bool, choice: anstream::ColorChoice| match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => is_terminal && choice != anstream::ColorChoice::Never,
        };
        let (out, err) = (std::io::stdout(), std::io::stderr());
        Self {
            json,
            styled: !json && styled(out.is_terminal(), anstream::AutoStream::choice(&out)),
            styled_err: styled(err.is_terminal(), anstream::AutoStream::choice(&err)),
            progress: !json && err.is_terminal(),
            speaks: !json,
            out: Box::new(anstream::AutoStream::always(out)),
            err: Box::new(anstream::AutoStream::always(err)),
        }
    }

    /// Into these, without colours and progress.
    pub fn plain(
        out: impl Write + Send + 'static,
        err: impl Write + Send + 'static,
        json: bool,
    ) -> Self {
        Self {
            out: Box::new(out),
            err: Box::new(err),
            json,
            styled: false,
            styled_err: false,
            progress: false,
            speaks: false,
        }
    }

    /// Whether JSON is asked for.
    pub fn json(&self) -> bool {
        self.json
    }

    /// A line of the answer.
    ///
    /// # Errors
    /// When the stream is closed.
    pub fn line(&mut self, line: impl AsRef<str>) -> Result<(), CliError> {
        writeln!(self.out, "{}", line.as_ref())?;
        Ok(())
    }

    /// The answer as JSON.
    ///
    /// # Errors
    /// When the stream is closed.
    pub fn document(&mut self, document: &impl Serialize) -> Result<(), CliError> {
        let text = serde_json::to_string_pretty(document).map_err(std::io::Error::from)?;
        self.line(text)
    }

    /// A table, as wide as it needs to be.
    ///
    /// # Errors
    /// When the stream is closed.
    pub fn table(&mut self, mut table: Table) -> Result<(), CliError> {
        if self.styled {
            table.enforce_styling();
        } else {
            table.force_no_tty();
        }
        let text = table.to_string();
        for line in text.lines() {
            self.line(line.trim_end())?;
        }
        Ok(())
    }

    /// An empty table without borders; its heads are `heads`.
    pub fn new_table(&self, heads: &[&str]) -> Table {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        if !heads.is_empty() {
            let bold = |head: &&str| {
                comfy_table::Cell::new(head).add_attribute(comfy_table::Attribute::Bold)
            };
            table.set_header(heads.iter().map(bold));
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        table
    }

    /// `text` in this colour, where colours are used.
    pub fn paint(&self, style: Style, text: &str) -> String {
        paint(self.styled, style, text)
    }

    /// Raw text of an answer.
    ///
    /// # Errors
    /// When the stream is closed.
    pub fn raw(&mut self, bytes: &[u8]) -> Result<(), CliError> {
        self.out.write_all(bytes)?;
        Ok(())
    }

    /// A remark.
    pub fn remark(&mut self, text: &str) {
        // Nothing can be said where nobody listens.
        let _ = writeln!(self.err, "{text}");
    }

    /// A warning.
    pub fn warn(&mut self, text: &str) {
        let lead = paint(self.styled_err, YELLOW.bold(), "warning:");
        self.remark(&format!("{lead} {text}"));
    }

    /// An error: one line for people, a document for programs.
    pub fn error(&mut self, error: &CliError) {
        if matches!(error, CliError::Output(source) if source.kind() == std::io::ErrorKind::BrokenPipe)
        {
            return;
        }
        if self.json {
            let document = error.document();
            return self.remark(&document.to_string());
        }
        let lead = paint(self.styled_err, RED.bold(), "error:");
        self.remark(&format!("{lead} {error}"));
    }

    /// How far something is; its length is told when it is known.
    pub fn bar(&self, text: &'static str) -> Bar {
        if !self.progress {
            return Bar { bar: None };
        }
        let style = "{msg} {wide_bar} {human_pos} of {human_len} rows ({eta})";
        let style =
            ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar());
        Bar { bar: Some(ProgressBar::no_length().with_message(text).with_style(style)) }
    }

    /// Shown while something takes longer than a second, until the answer is dropped.
    pub fn progress(&self, text: impl Into<String>) -> Progress {
        if !self.progress {
            return Progress { bar: None, speaks: self.speaks };
        }
        let bar = ProgressBar::new_spinner().with_message(text.into());
        let style = ProgressStyle::with_template("{spinner} {msg} ({elapsed})")
            .unwrap_or_else(|_| ProgressStyle::default_spinner());
        bar.set_style(style);
        bar.set_draw_target(ProgressDrawTarget::hidden());
        let delayed = bar.clone();
        std::thread::spawn(move || {
            std::thread::sleep(PATIENCE);
            if !delayed.is_finished() {
                delayed.set_draw_target(ProgressDrawTarget::stderr());
                delayed.enable_steady_tick(Duration::from_millis(120));
            }
        });
        Progress { bar: Some(bar), speaks: self.speaks }
    }
}

/// How far something is whose length is known; gone when it is dropped.
pub struct Bar {
    bar: Option<ProgressBar>,
}

impl Bar {
    /// So much will come in all.
    pub fn expect(&self, all: u64) {
        if let Some(bar) = &self.bar {
            bar.set_length(all);
        }
    }

    /// So much more has come.
    pub fn advance(&self, by: u64) {
        if let Some(bar) = &self.bar {
            bar.inc(by);
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Shows that something is going on; gone when it is dropped.
pub struct Progress {
    bar: Option<ProgressBar>,
    /// Whether steps are said.
    speaks: bool,
}

impl Progress {
    /// Says something else from now on.
    pub fn say(&self, text: impl Into<String>) {
        if let Some(bar) = &self.bar {
            bar.set_message(text.into());
        }
    }
}

impl crate::build::Progress for Progress {
    /// Steps stay on the screen: they say what was done to this machine.
    fn step(&self, message: &str) {
        let say = || anstream::eprintln!("{DIM}{message}{DIM:#}");
        match &self.bar {
            _ if !self.speaks => {}
            Some(bar) => bar.suspend(say),
            None => say(),
        }
    }

    fn line(&self, line: &str) {
        self.say(line.trim());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// For what went well.
pub const GREEN: Style = AnsiColor::Green.on_default();
/// For what did not.
pub const RED: Style = AnsiColor::Red.on_default();
/// For what needs a look.
pub const YELLOW: Style = AnsiColor::Yellow.on_default();
/// For names.
pub const CYAN: Style = AnsiColor::Cyan.on_default();
/// For what matters less.
pub const DIM: Style = Style::new().dimmed();
/// For heads.
pub const BOLD: Style = Style::new().bold();

fn paint(styled: bool, style: Style, text: &str) -> String {
    if styled { format!("{style}{text}{style:#}") } else { text.to_owned() }
}
