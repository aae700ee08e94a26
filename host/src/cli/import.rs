//! `segno import`.

use std::{
    fs::File,
    io::{BufReader, Seek as _},
    path::PathBuf,
};

use clap::Args;
use segno_core::config::Config;
use segno_engine::recovery::describe;
use segno_env::Env;
use segno_store::{
    Diagnosis,
    archive::{
        ArchiveBounds, ArchiveError, ArchiveHead, ArchiveReader, ArchiveRow, ArchiveSource, verify,
    },
    examine,
    sqlite::schema,
};
use serde_json::json;

use super::{CliError, Console, Exit, build::other, console::ProgressMeter, place::StoreOptions};

/// Fill an empty store from a file of `segno export`
///
/// The whole file is read and checked before anything is written: its checksum, its tables and
/// columns, its values, and the digests of modules. Every reference and every invariant is checked
/// before the import is kept. Until then the store is empty, so an interrupted import can simply be
/// repeated. With several databases, the shards are then dealt to all of them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno import store.segno
  segno import --store /srv/segno store.segno
  segno export --store old store.segno && segno import --store new store.segno")]
pub(super) struct ImportArgs {
    #[command(flatten)]
    place: StoreOptions,
    /// File to read
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Keep the import even if an invariant is broken, as it was in the exported store
    #[arg(long)]
    even_if_damaged: bool,
    /// Maximum size of the unpacked file, as a multiple of the file's size (256 MiB are always
    /// allowed)
    #[arg(long, value_name = "TIMES", default_value_t = ArchiveBounds::default().expansion)]
    max_expansion: u64,
}

impl ImportArgs {
    pub(super) async fn run(self, console: &mut Console) -> Result<Exit, CliError> {
        let mut file = File::open(&self.file).map_err(|source| CliError::File {
            what: "read",
            path: self.file.display().to_string(),
            source,
        })?;
        let refused = |error: ArchiveError| match error {
            error @ ArchiveError::NotEmpty(_) => other("not-empty", &error),
            error @ (ArchiveError::Damaged(_)
            | ArchiveError::NotAnExport
            | ArchiveError::Foreign { .. }
            | ArchiveError::TooLarge(_)
            | ArchiveError::Newer { .. }) => {
                let message = format!("{}: {error}", self.file.display());
                CliError::Other { code: "not-imported", message }
            }
            error => other("not-imported", &error),
        };
        let bounds = ArchiveBounds { expansion: self.max_expansion, ..ArchiveBounds::default() };
        let reader =
            |file: &File| ArchiveReader::bounded(BufReader::new(file.try_clone()?), bounds);
        let from = reader(&file).map_err(refused)?;
        let head = from.head().clone();
        let known = schema(head.format).await.map_err(refused)?;
        let bar = console.bar("checking the file");
        bar.expect(head.rows());
        let mut counted = ByteCountingReader { from, bar };
        verify(&mut counted, &known).map_err(refused)?;
        drop(counted);
        file.rewind().map_err(|error| refused(error.into()))?;
        let reader = reader(&file).map_err(refused)?;
        let bar = console.bar("importing");
        bar.expect(head.rows());
        let mut counted = ByteCountingReader { from: reader, bar };
        let import = self.place.import(&mut counted).await.map_err(refused)?;
        drop(counted);
        let diagnosis =
            check(import.scan(), console).await.map_err(|error| other("store", &error))?;
        if !diagnosis.is_clean() && !self.even_if_damaged {
            let first = diagnosis.findings.first().map(describe).unwrap_or_default();
            return Err(CliError::Other {
                code: "damaged",
                message: format!(
                    "{} symptoms of damage, the first: {first}. Nothing was kept. Mend the store it came from \
                     (`segno doctor --repair`) and export again, or keep it with --even-if-damaged",
                    diagnosis.count
                ),
            });
        }
        import.keep().await.map_err(refused)?;
        if console.json() {
            console.document(&json!({
                "store": self.place.name(),
                "rows": head.rows(),
                "promises": diagnosis.promises,
                "clean": diagnosis.is_clean(),
            }))?;
        } else {
            let verdict = match diagnosis.count {
                0 => "nothing is wrong".to_owned(),
                count => format!("{count} symptoms of damage, as before"),
            };
            console.line(format!(
                "{}  {} rows, {} promises looked at, {verdict}",
                self.place.name(),
                head.rows(),
                diagnosis.promises
            ))?;
        }
        Ok(Exit::Done)
    }
}

async fn check(
    scan: &dyn segno_store::Scan,
    console: &Console,
) -> Result<Diagnosis, segno_store::StoreError> {
    let progress = console.progress("checking");
    let seen = |promises| progress.say(format!("checking: {promises} promises looked at"));
    examine(scan, Env::system().clock.now(), &Config::default(), seen).await
}

/// Counts the bytes read.
struct ByteCountingReader {
    from: ArchiveReader<BufReader<File>>,
    bar: ProgressMeter,
}

impl ArchiveSource for ByteCountingReader {
    fn head(&self) -> &ArchiveHead {
        self.from.head()
    }

    fn read_rows(&mut self) -> Result<Option<(usize, Vec<ArchiveRow>)>, ArchiveError> {
        let rows = self.from.read_rows()?;
        self.bar.advance(rows.as_ref().map_or(0, |(_, rows)| rows.len() as u64));
        Ok(rows)
    }
}
