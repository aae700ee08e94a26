//! `segno logs`.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use clap::Args;
use segno_api::model::{InvocationQuery, LogLevel, LogLine};
use segno_client::{Client, ClientError};

use super::{
    CliError, Console, Exit,
    console::{DIM, GREEN, RED, YELLOW},
    show::{plain_lines, short_target},
    subject::{SubjectArgs, SubjectExecution},
    time::instant,
};

/// Print log lines of an invocation and its calls
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno logs order-1001
  segno logs order-1001 --own --level warn
  segno logs order-1001 --follow
  segno logs order-1001.segno-bundle   # those in a bundle: no host, no network")]
pub(super) struct LogsArgs {
    #[command(flatten)]
    subject: SubjectArgs,
    #[command(flatten)]
    shown: LogFilterArgs,
    /// Continue until the invocation has ended
    #[arg(long, short)]
    follow: bool,
}

/// Selects the lines that are shown.
#[derive(Debug, Args)]
struct LogFilterArgs {
    /// Minimum level: trace, debug, info, warn, error
    #[arg(long, value_name = "LEVEL", default_value = "trace", value_parser = read_level)]
    level: LogLevel,
    /// Only lines of the invocation itself, not of its calls
    #[arg(long)]
    own: bool,
}

/// Maximum number of calls whose lines are read, nearest first.
const CALLS: usize = 1_000;
const PAGE: u32 = 1_000;

/// An invocation whose lines are read, and the number of its next line.
struct LogSource {
    id: String,
    function: String,
    from: u32,
    /// Printed log lines of an attempt that trapped, which are not committed.
    uncommitted: Vec<LogLine>,
}

impl LogSource {
    fn new(id: String, function: String) -> Self {
        Self { id, function, from: 0, uncommitted: Vec::new() }
    }
}

fn read_level(text: &str) -> Result<LogLevel, String> {
    LogLevel::ALL
        .into_iter()
        .find(|level| level.as_str() == text)
        .ok_or_else(|| "it is one of trace, debug, info, warn, error".to_owned())
}

impl LogsArgs {
    pub(super) async fn run(
        self,
        host: impl FnOnce() -> Result<Client, ClientError>,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let Self { subject, shown, follow } = self;
        if follow && subject.is_bundle() {
            let message = "a bundle does not change: --follow is for what a host runs".to_owned();
            return Err(CliError::Usage(message));
        }
        let SubjectExecution { client, id, .. } = subject.open(host, console).await?;
        let mut sources = BTreeMap::new();
        loop {
            // Requested before the lines are read, so that the last lines are not missed.
            let ended = !follow || client.wait(&id, Duration::ZERO).await?.state.is_settled();
            shown.find_sources(&client, &id, &mut sources).await?;
            let mut lines = Vec::new();
            for source in sources.values_mut() {
                shown.read(&client, source, &mut lines).await?;
            }
            lines.sort_by_key(|(_, line)| line.at_ms);
            for (source, line) in &lines {
                print(source, line, console)?;
            }
            if ended {
                return Ok(Exit::Done);
            }
            // The wait for the end doubles as the pause between two reads.
            client.wait(&id, Duration::from_millis(500)).await?;
        }
    }
}

impl LogFilterArgs {
    /// Adds the invocation and its new callees.
    async fn find_sources(
        &self,
        client: &Client,
        id: &str,
        sources: &mut BTreeMap<String, LogSource>,
    ) -> Result<(), CliError> {
        let own = LogSource::new(id.to_owned(), String::new());
        sources.entry(id.to_owned()).or_insert(own);
        let mut parents = VecDeque::from([id.to_owned()]);
        while let Some(parent) = parents.pop_front().filter(|_| !self.own) {
            let query = InvocationQuery {
                parent: Some(parent),
                limit: Some(PAGE),
                ..InvocationQuery::default()
            };
            for call in client.list(&query).await?.items {
                if sources.len() > CALLS {
                    return Ok(());
                }
                parents.push_back(call.id.clone());
                let function = short_target(&call.target).to_owned();
                let source = LogSource::new(call.id.clone(), function);
                sources.entry(call.id).or_insert(source);
            }
        }
        Ok(())
    }

    async fn read(
        &self,
        client: &Client,
        source: &mut LogSource,
        lines: &mut Vec<(String, LogLine)>,
    ) -> Result<(), CliError> {
        loop {
            let page = client.logs(&source.id, source.from, PAGE).await?;
            for line in page.lines {
                source.from = line.line + 1;
                if line.level >= self.level {
                    lines.push((source.function.clone(), line));
                }
            }
            if page.next.is_none() {
                // A later attempt logs the same lines at another time.
                let same = |(one, other): (&LogLine, &LogLine)| one.message == other.message;
                let printed = source.uncommitted.len() == page.uncommitted.len()
                    && source.uncommitted.iter().zip(&page.uncommitted).all(same);
                if !printed {
                    let shown = page.uncommitted.iter().filter(|line| line.level >= self.level);
                    lines.extend(shown.map(|line| (source.function.clone(), line.clone())));
                    source.uncommitted = page.uncommitted;
                }
                return Ok(());
            }
        }
    }
}

fn print(source: &str, line: &LogLine, console: &mut Console) -> Result<(), CliError> {
    if console.json() {
        let text = serde_json::to_string(line).map_err(std::io::Error::from)?;
        return console.line(text);
    }
    let line = printed(source, line, console);
    console.line(line)
}

/// Formats a line of a log, with the function that logged it. `source` is empty if it is obvious.
pub(super) fn printed(source: &str, line: &LogLine, console: &Console) -> String {
    let style = match line.level {
        LogLevel::Trace | LogLevel::Debug => DIM,
        LogLevel::Info => GREEN,
        LogLevel::Warn => YELLOW,
        LogLevel::Error => RED,
    };
    let level = console.paint(style, &format!("{:<5}", line.level.as_str()));
    let at = console.paint(DIM, &instant(line.at_ms));
    let source = match source {
        "" => String::new(),
        function => console.paint(DIM, &format!("{function}: ")),
    };
    // Further lines of a message are indented, so that none of them looks like a log line.
    let message = plain_lines(&line.message, 6);
    format!("{at}  {level}  {source}{message}")
}
