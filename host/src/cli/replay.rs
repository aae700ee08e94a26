//! `segno replay`.

use std::path::Path;

use clap::Args;
use segno_api::model::{self, JournalRecord, ReplayVerdict};
use segno_client::{Client, ClientError};

use super::{
    CliError, Console, Exit,
    attempts::FailedAttempts,
    bundled::LoadedBundles,
    console::{BOLD, DIM, GREEN, RED},
    deploy::read_component,
    difference,
    moment::ReplayMoment,
    runtimes::upload,
    show::{self, plain_lines, short_digest},
    step,
    subject::{SubjectArgs, SubjectExecution},
    timeline::record_line,
};

/// Replay an invocation's journal and report whether every record is reproduced
///
/// Nothing is executed and nothing is changed: the function receives the recorded results, and its
/// commands are compared with the recorded ones.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno replay order-1001
  segno replay order-1001 --module shop          # the present module shop
  segno replay order-1001 --module target/shop.wasm
  segno replay order-1001 --quiet && echo identical
  segno replay order-1001 --at 7                 # as it was when its journal had 7 records
  segno replay order-1001.segno-bundle           # a bundle: no host, no network
  segno replay order-1001 --step                 # from the first record on; --at 7: from there
  printf 'g 7\\nn\\nq\\n' | segno replay order-1001 --step

The exit code is 0 if the replay is identical and 7 if it diverges.")]
pub(super) struct ReplayArgs {
    #[command(flatten)]
    subject: SubjectArgs,
    #[command(flatten)]
    how: ReplayOptions,
}

/// Options of a replay and its output.
#[derive(Debug, Args)]
struct ReplayOptions {
    /// Another module: its name, its digest, or a component file, which is uploaded without a name
    #[arg(long, value_name = "NAME|DIGEST|FILE.wasm")]
    module: Option<String>,
    /// Replay the first N records only, and show the open commands and the log at that point
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    at: Option<u32>,
    /// Go forward and back through the records: each line of the input is a key (n, p, g N, q)
    #[arg(long, conflicts_with_all = ["quiet", "module"])]
    step: bool,
    /// Print only the verdict, not the records
    #[arg(long, short)]
    quiet: bool,
}

impl ReplayArgs {
    pub(super) async fn run(
        self,
        host: impl FnOnce() -> Result<Client, ClientError>,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let Self { subject, how } = self;
        let module = how.module.as_deref();
        let names_one = subject.names_one();
        let prepare = |bundled: &mut LoadedBundles, id: &str| {
            if !names_one {
                bundled.check_journal(id)?;
            }
            bundled.prepare_replay(id, module)
        };
        let asked = subject.open_with(host, prepare, console).await?;
        how.replay(&asked, console).await
    }
}

impl ReplayOptions {
    async fn replay(
        self,
        asked: &SubjectExecution,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let SubjectExecution { client, id, bundled } = asked;
        let redacted = bundled.as_ref().is_some_and(LoadedBundles::is_redacted);
        if self.step {
            if console.json() {
                let message = "--step is for people: use `--at N --json` instead".to_owned();
                return Err(CliError::Usage(message));
            }
            return step::of_host(client, id, self.at.unwrap_or(1), console).await;
        }
        let module = match &self.module {
            Some(path) if path.ends_with(".wasm") || path.ends_with(".module") => {
                let deployed = upload(client, read_component(Path::new(path))?, None).await?;
                Some(deployed.module.digest)
            }
            other => other.clone(),
        };
        let progress = console.progress(format!("replaying {}", id));
        let replay = client.replay_to(id, module.as_deref(), self.at).await?;
        drop(progress);
        if console.json() {
            console.document(&replay)?;
            return Ok(exit(replay.verdict));
        }
        let records = match self.quiet && self.at.is_none() {
            true => Vec::new(),
            false => client.whole_journal(id).await?,
        };
        if !self.quiet {
            let failed = FailedAttempts::read(client, id).await?;
            records_of(&records, &failed, &replay, console)?;
        }
        verdict(&replay, redacted, console)?;
        if let Some(at) = self.at {
            let moment = ReplayMoment::read(client, id, replay.open).await?;
            moment.show(&records, at, console)?;
        }
        Ok(exit(replay.verdict))
    }
}

/// Prints the records with a mark each, and the verdict.
pub(super) fn show(
    records: &[JournalRecord],
    replay: &model::Replay,
    console: &mut Console,
) -> Result<(), CliError> {
    records_of(records, &FailedAttempts::default(), replay, console)?;
    verdict(replay, false, console)
}

fn records_of(
    records: &[JournalRecord],
    failed: &FailedAttempts,
    replay: &model::Replay,
    console: &mut Console,
) -> Result<(), CliError> {
    let began_at_ms = records.first().map_or(0, |record| record.at_ms);
    for record in records.iter().filter(|record| record.seq < replay.journal_len) {
        let line = marked(record, replay, began_at_ms, console);
        console.line(line)?;
        failed.show(record, console)?;
    }
    Ok(())
}

fn marked(record: &JournalRecord, replay: &model::Replay, began: i64, console: &Console) -> String {
    let mark = match record.seq {
        seq if seq < replay.matched => console.paint(GREEN, "✓"),
        seq if seq == replay.matched => console.paint(RED, "✗"),
        _ => console.paint(DIM, "·"),
    };
    format!("{mark} {}", record_line(record, began, console))
}

fn verdict(replay: &model::Replay, redacted: bool, console: &mut Console) -> Result<(), CliError> {
    let module = short_digest(&replay.module);
    match replay.verdict {
        ReplayVerdict::Identical => {
            let word = console.paint(GREEN.bold(), "identical");
            let so_far = if replay.running { " so far; the execution has not ended" } else { "" };
            console
                .line(format!("{word}: {} records on module {module}{so_far}", replay.matched))?;
            match &replay.note {
                Some(note) => {
                    console.line("its last attempt failed after these records:")?;
                    show::note(note, console)
                }
                None => Ok(()),
            }
        }
        ReplayVerdict::Failed => {
            let word = console.paint(RED.bold(), "failed");
            let why = plain_lines(replay.error.as_deref().unwrap_or("no reason is known"), 2);
            let (matched, len) = (replay.matched, replay.journal_len);
            console.line(format!(
                "{word} after {matched} of {len} records on module {module}: {why}"
            ))?;
            show::frames(replay.note.as_ref().and_then(|note| note.details.as_ref()), console)
        }
        ReplayVerdict::Diverged => {
            let word = console.paint(RED.bold(), "diverged");
            let (matched, len) = (replay.matched, replay.journal_len);
            console.line(format!("{word} after {matched} of {len} records on module {module}"))?;
            difference::divergence(replay, console)?;
            let head = console.paint(BOLD, "what to do");
            let advice = match replay.running {
                _ if redacted => {
                    "the values in this bundle are hidden, and the code may have decided by one: replay one that was made without --redact"
                }
                true => {
                    "keep running it on its own module (it does so by itself), or change the code so that it asks for the same"
                }
                false => {
                    "nothing for this one, which has ended; if others in flight do the same, they finish on their own module by themselves"
                }
            };
            console.line("")?;
            console.paragraph("", &format!("{head}: {advice}"), 0)
        }
    }
}

fn exit(verdict: ReplayVerdict) -> Exit {
    match verdict {
        ReplayVerdict::Identical => Exit::Done,
        ReplayVerdict::Diverged => Exit::Diverged,
        ReplayVerdict::Failed => Exit::Error,
    }
}
