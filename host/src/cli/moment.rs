//! The state of an execution when its journal had a given number of records.

use std::collections::BTreeMap;

use segno_api::model::{JournalRecord, LogLine, OpenPlaceView, RecordKind};
use segno_client::Client;

use super::{
    CliError, Console,
    console::{BOLD, DIM},
    logs, show,
    timeline::record_line,
};

/// Maximum number of log lines shown.
const LINES: usize = 10;

/// The state at a moment, in addition to the records.
pub(super) struct ReplayMoment {
    /// The open commands, with the code locations that issued them.
    pub places: Vec<OpenPlaceView>,
    /// All lines of the log.
    pub log: Vec<LogLine>,
}

impl ReplayMoment {
    /// Reads the log of an execution, for a moment with these open commands.
    pub(super) async fn read(
        client: &Client,
        id: &str,
        places: Vec<OpenPlaceView>,
    ) -> Result<Self, CliError> {
        Ok(Self { places, log: whole_log(client, id).await? })
    }

    /// Prints the commands that were open after the first `at` records, and the log up to then.
    pub(super) fn show(
        &self,
        records: &[JournalRecord],
        at: u32,
        console: &mut Console,
    ) -> Result<(), CliError> {
        show(self, records, at, console)
    }
}

fn show(
    moment: &ReplayMoment,
    records: &[JournalRecord],
    at: u32,
    console: &mut Console,
) -> Result<(), CliError> {
    let began_at_ms = records.first().map_or(0, |record| record.at_ms);
    let open = open(records, at);
    console.line("")?;
    let head = console.paint(BOLD, "open at this place");
    let none = if open.is_empty() { "  nothing" } else { "" };
    console.line(format!("{head}{none}"))?;
    for record in open {
        let line = record_line(record, began_at_ms, console);
        console.line(line)?;
        let place = moment.places.iter().find(|place| Some(place.index) == record.index);
        show::frames(place.and_then(|place| place.details.as_ref()), console)?;
    }
    let then = records.iter().take_while(|record| record.seq < at).last();
    let then = then.map_or(i64::MAX, |record| record.at_ms);
    let lines = &moment.log;
    // Lines have the time of the last record delivered before they were logged.
    let by_then: Vec<_> = lines.iter().filter(|line| line.at_ms <= then).collect();
    console.line("")?;
    let head = console.paint(BOLD, "logged by then");
    let shown = match by_then.len() {
        0 => "  nothing".to_owned(),
        many if many > LINES => console.paint(DIM, &format!("  the last {LINES} of {many} lines")),
        _ => String::new(),
    };
    console.line(format!("{head}{shown}"))?;
    for line in &by_then[by_then.len().saturating_sub(LINES)..] {
        let line = logs::printed("", line, console);
        console.line(line)?;
    }
    Ok(())
}

async fn whole_log(client: &Client, id: &str) -> Result<Vec<LogLine>, CliError> {
    let (mut lines, mut next) = (Vec::new(), Some(0));
    while let Some(from) = next {
        let page = client.logs(id, from, 1_000).await?;
        lines.extend(page.lines);
        next = page.next;
    }
    Ok(lines)
}

/// Commands without a completion.
const CARRIED_OUT: [&str; 5] = ["set-state", "clear-state", "clear-all-state", "signal", "cancel"];

/// The commands among the first `at` records that had no outcome by then, and that get one.
fn open(records: &[JournalRecord], at: u32) -> Vec<&JournalRecord> {
    let mut open: BTreeMap<u32, &JournalRecord> = BTreeMap::new();
    for record in records.iter().filter(|record| record.seq < at) {
        let Some(index) = record.index else { continue };
        let completes = || record.command.as_deref().is_none_or(|it| !CARRIED_OUT.contains(&it));
        match record.kind {
            RecordKind::Command if completes() => {
                open.insert(index, record);
            }
            RecordKind::Notified => {
                open.remove(&index);
            }
            RecordKind::Command
            | RecordKind::Started
            | RecordKind::Signal
            | RecordKind::Cancelled
            | RecordKind::Finished => {}
        }
    }
    open.into_values().collect()
}
