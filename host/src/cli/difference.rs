//! Output of the difference between a replay and its journal.

use segno_api::model::{self, ReplayVerdict};

use super::{
    CliError, Console,
    show::{self, plain_lines},
    table::{TextCell, TextColumn, TextTable},
};

/// Prints the difference between a replay and its journal, or the reason of its failure.
pub(super) fn print(replay: &model::Replay, console: &mut Console) -> Result<(), CliError> {
    if replay.verdict == ReplayVerdict::Failed {
        let why = plain_lines(replay.error.as_deref().unwrap_or("no reason is known"), 2);
        console.paragraph("  ", &format!("fails after {} records: {why}", replay.matched), 2)?;
        return show::frames(replay.note.as_ref().and_then(|note| note.details.as_ref()), console);
    }
    divergence(replay, console)
}

/// Prints the command at which a replay left its journal, and the fields that differ.
pub(super) fn divergence(replay: &model::Replay, console: &mut Console) -> Result<(), CliError> {
    let Some(divergence) = &replay.divergence else { return Ok(()) };
    console.line(&divergence.message)?;
    show::frames(divergence.details.as_ref(), console)?;
    let recorded = divergence.details.as_ref().and_then(|details| details.get("recorded_frames"));
    if let Some(frames) = recorded {
        console.line("  recorded by the earlier code at:")?;
        show::frames(Some(&serde_json::json!({ "frames": frames })), console)?;
    }
    if divergence.fields.is_empty() {
        return Ok(());
    }
    console.line("")?;
    let mut table = TextTable::new(&[
        TextColumn::whole("FIELD"),
        TextColumn::prose("RECORDED"),
        TextColumn::prose("ASKED"),
    ]);
    for field in &divergence.fields {
        table.row([&field.field, &field.recorded, &field.asked].map(TextCell::from));
    }
    console.table(&table)
}
