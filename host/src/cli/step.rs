//! `segno replay ID --step`: forward and back through the records of an execution.
//!
//! Keys are lines, so that a terminal and a script work the same.

use std::io::BufRead;

use segno_api::model::{Handler, HandlerKind, JournalRecord, SendQuery};
use segno_client::{Client, ClientError};
use serde_json::Value;

use super::{
    CliError, Console, Exit,
    console::{BOLD, CYAN, DIM},
    moment::ReplayMoment,
    show::{self, plain},
    timeline::record_line,
};

/// The data of an execution for stepping, independent of its storage.
pub(super) trait StepSource {
    /// All records of the execution.
    fn records(&self) -> &[JournalRecord];

    /// The state after the first `at` records.
    async fn moment(&self, at: u32) -> Result<ReplayMoment, CliError>;

    /// The answers to its queries without input after the first `at` records, or the errors.
    async fn answers(&self, at: u32) -> Result<Vec<(String, Result<Value, String>)>, CliError>;
}

/// An execution that a host stores.
struct HostedExecution<'a> {
    client: &'a Client,
    id: &'a str,
    records: Vec<JournalRecord>,
    /// The queries that take no input.
    queries: Vec<String>,
}

impl StepSource for HostedExecution<'_> {
    fn records(&self) -> &[JournalRecord] {
        &self.records
    }

    async fn moment(&self, at: u32) -> Result<ReplayMoment, CliError> {
        let replay = self.client.replay_to(self.id, None, Some(at)).await?;
        ReplayMoment::read(self.client, self.id, replay.open).await
    }

    async fn answers(&self, at: u32) -> Result<Vec<(String, Result<Value, String>)>, CliError> {
        let mut answers = Vec::new();
        for name in &self.queries {
            let query = SendQuery { input: Value::Null, at: Some(at) };
            let answer = match self.client.query(self.id, name, &query).await {
                Ok(answer) => Ok(answer.value),
                Err(error @ ClientError::Refused(_)) => Err(error.to_string()),
                Err(error) => return Err(error.into()),
            };
            answers.push((name.clone(), answer));
        }
        Ok(answers)
    }
}

/// Steps through an execution of a host, from record `at` on.
pub(super) async fn of_host(
    client: &Client,
    id: &str,
    at: u32,
    console: &mut Console,
) -> Result<Exit, CliError> {
    let records = client.whole_journal(id).await?;
    if records.is_empty() {
        // An error reports that it cannot be replayed.
        client.replay(id, None).await?;
    }
    let invocation = client.invocation(id).await?;
    let module = match &invocation.module {
        Some(digest) => client.module(digest).await.ok(),
        None => None,
    };
    let functions = module.into_iter().flat_map(|module| module.description.functions);
    let function = functions
        .into_iter()
        .find(|it| it.name.rsplit('/').next() == Some(invocation.function.as_str()));
    let handlers = function.into_iter().flat_map(|function| function.handlers);
    let queries = handlers
        .filter(|handler| handler.kind == HandlerKind::Query && takes_nothing(handler))
        .map(|handler| handler.name)
        .collect();
    let source = HostedExecution { client, id, records, queries };
    let mut keys = std::io::BufReader::new(std::io::stdin());
    step(&source, at, &mut keys, console).await?;
    Ok(Exit::Done)
}

/// Returns true if a query needs no input.
fn takes_nothing(handler: &Handler) -> bool {
    let schema = handler.input_schema.as_ref().map(|schema| &schema["type"]);
    schema.is_none_or(|kind| match kind {
        Value::Array(kinds) => kinds.iter().any(|kind| kind == "null"),
        kind => kind == "null",
    })
}

/// The meaning of an input line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StepInput {
    Next,
    Back,
    Go(u32),
    Quit,
    Unknown,
}

impl StepInput {
    fn read(line: &str) -> Self {
        let line = line.trim();
        // Escape sequences of the arrow keys.
        match line {
            "" | "n" | "next" | "\u{1b}[C" | "\u{1b}[B" => Self::Next,
            "p" | "b" | "previous" | "back" | "\u{1b}[D" | "\u{1b}[A" => Self::Back,
            "q" | "quit" => Self::Quit,
            _ => {
                let place = line.strip_prefix('g').unwrap_or(line).trim();
                place.parse().map_or(Self::Unknown, Self::Go)
            }
        }
    }
}

/// Steps through the records from `at` on, controlled by the lines of `keys`.
pub(super) async fn step(
    source: &impl StepSource,
    mut at: u32,
    keys: &mut impl BufRead,
    console: &mut Console,
) -> Result<(), CliError> {
    let last = u32::try_from(source.records().len()).unwrap_or(u32::MAX);
    if last == 0 {
        return Ok(());
    }
    at = at.clamp(1, last);
    loop {
        shown(source, at, last, console).await?;
        let keys_line = console.paint(DIM, "n next, p back, g N go to record N, q quit");
        console.line(keys_line)?;
        at = loop {
            let mut line = String::new();
            if keys.read_line(&mut line)? == 0 {
                return Ok(());
            }
            match StepInput::read(&line) {
                StepInput::Quit => return Ok(()),
                StepInput::Next if at < last => break at + 1,
                StepInput::Next => console.remark("this is the last record"),
                StepInput::Back if at > 1 => break at - 1,
                StepInput::Back => console.remark("this is the first record"),
                StepInput::Go(to) if (1..=last).contains(&to) => break to,
                StepInput::Go(to) => {
                    console
                        .remark(&format!("there is no place {to}: it has the records 1 to {last}"));
                }
                StepInput::Unknown => console.remark("n, p, g N or q"),
            }
        };
    }
}

/// Prints the reached record and the state of the execution at that point.
async fn shown(
    source: &impl StepSource,
    at: u32,
    last: u32,
    console: &mut Console,
) -> Result<(), CliError> {
    let records = source.records();
    let began_at_ms = records.first().map_or(0, |record| record.at_ms);
    console.line("")?;
    let head = console.paint(BOLD, &format!("after {at} of {last} records"));
    console.line(head)?;
    if let Some(record) = at.checked_sub(1).and_then(|place| records.get(place as usize)) {
        let line = record_line(record, began_at_ms, console);
        console.line(line)?;
    }
    source.moment(at).await?.show(records, at, console)?;
    let answers = source.answers(at).await?;
    if answers.is_empty() {
        return Ok(());
    }
    console.line("")?;
    let head = console.paint(BOLD, "answers");
    console.line(head)?;
    for (query, answer) in answers {
        let name = console.paint(CYAN, &plain(&query));
        let answer = match answer {
            Ok(value) => show::value(&value, console),
            Err(why) => console.paint(DIM, &plain(&why)),
        };
        console.paragraph(&format!("  {name}  "), &answer, 4)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::tests::WrittenBytes;
    use segno_api::model::OpenPlaceView;

    /// A recorded workflow that called, slept and ended.
    struct RecordedSource(Vec<JournalRecord>);

    impl StepSource for RecordedSource {
        fn records(&self) -> &[JournalRecord] {
            &self.0
        }

        async fn moment(&self, at: u32) -> Result<ReplayMoment, CliError> {
            let frames = serde_json::json!({ "frames": [{ "function": "order", "file": "src/lib.rs", "line": 12 }] });
            let place = OpenPlaceView {
                index: 0,
                command: "call".to_owned(),
                promise: None,
                details: Some(frames),
            };
            let log =
                serde_json::json!([{ "line": 0, "at_ms": 3, "level": "info", "message": "told" }]);
            let log = serde_json::from_value(log).expect("lines");
            Ok(ReplayMoment { places: if at == 2 { vec![place] } else { Vec::new() }, log })
        }

        async fn answers(&self, at: u32) -> Result<Vec<(String, Result<Value, String>)>, CliError> {
            Ok(vec![("progress".to_owned(), Ok(Value::from(at)))])
        }
    }

    #[tokio::test]
    async fn each_step_shows_what_was_open_where_it_was_issued_and_what_it_answers() {
        let records = serde_json::json!([
            { "seq": 0, "at_ms": 1, "kind": "started", "name": "order", "request": 1 },
            { "seq": 1, "at_ms": 1, "kind": "command", "index": 0, "command": "call", "name": "ship" },
            { "seq": 2, "at_ms": 3, "kind": "notified", "index": 0, "outcome": { "value": 7 } },
        ]);
        let source = RecordedSource(serde_json::from_value(records).expect("records"));
        let (out, err) = (WrittenBytes::default(), WrittenBytes::default());
        let mut console = Console::plain(out.clone(), err.clone(), false);
        let mut keys = &b"n\nn\nn\np\ng 1\np\ng 9\nwhat\nq\nn\n"[..];
        step(&source, 1, &mut keys, &mut console).await.expect("it is written");
        let said = out.text();
        let places: Vec<&str> = said.lines().filter(|line| line.starts_with("after ")).collect();
        let at = |at: u32| format!("after {at} of 3 records");
        assert_eq!(places, [at(1), at(2), at(3), at(2), at(1)]);
        let parts: Vec<&str> = said.split("after ").collect();
        assert!(parts[2].contains("src/lib.rs:12 in order"), "{said}");
        assert!(!parts[2].contains("told") && parts[3].contains("told"), "{said}");
        assert!(parts[3].contains("progress  3"), "{said}");
        let remarks =
            ["this is the last record", "this is the first record", "no place 9", "n, p, g N"];
        assert!(remarks.iter().all(|remark| err.text().contains(remark)), "{}", err.text());
        assert!(!String::from_utf8_lossy(keys).is_empty(), "what follows q is not read");
    }

    #[test]
    fn lines_are_keys() {
        for (line, key) in [
            ("\n", StepInput::Next),
            ("n\n", StepInput::Next),
            ("\u{1b}[C\n", StepInput::Next),
            ("p\n", StepInput::Back),
            ("\u{1b}[A\n", StepInput::Back),
            ("g 7\n", StepInput::Go(7)),
            ("g7\n", StepInput::Go(7)),
            ("7\n", StepInput::Go(7)),
            ("q\n", StepInput::Quit),
            ("what\n", StepInput::Unknown),
        ] {
            assert_eq!(StepInput::read(line), key, "{line:?}");
        }
    }
}
