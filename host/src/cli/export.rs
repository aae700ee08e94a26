//! `segno export`.

use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    path::PathBuf,
};

use clap::Args;
use segno_store::{
    Scan,
    archive::{ArchiveError, ArchiveHead, ArchiveRow, ArchiveSink, ArchiveWriter},
};
use serde_json::json;

use super::{
    CliError, Console, Exit, build::other, console::ProgressMeter, place::StoreOptions, show::size,
};

/// Write a whole store into one file, to move it
///
/// The file contains everything at one instant: executions with their journals and logs, modules,
/// names, schedules, messages owed. A host may run meanwhile, but later changes are not in the
/// file: stop the host before a move. A store in several databases also becomes one file.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno export store.segno
  segno export --store /var/lib/segno /backup/store.segno
  segno export store.segno && segno import --store /srv/segno store.segno")]
pub(super) struct ExportArgs {
    #[command(flatten)]
    place: StoreOptions,
    /// New file to write
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

impl ExportArgs {
    pub(super) async fn run(self, console: &mut Console) -> Result<Exit, CliError> {
        if self.file.exists() {
            let file = self.file.display();
            return Err(CliError::Usage(format!(
                "`{file}` exists: name another file, or remove it"
            )));
        }
        let look = self.place.look().await?;
        let written = self.write_archive(look.scan(), console).await;
        look.close().await;
        let head = written.map_err(|error| other("not-exported", &error))?;
        let bytes = fs::metadata(&self.file).map_or(0, |file| file.len());
        if console.json() {
            console.document(&json!({
                "file": self.file,
                "bytes": bytes,
                "rows": head.rows(),
                "tables": head.tables.iter().map(|table| (table.name.clone(), table.rows.into())).collect::<serde_json::Map<_, _>>(),
            }))?;
        } else {
            let (rows, file) = (head.rows(), self.file.display());
            console.line(format!("{file}  {rows} rows, {}", size(bytes)))?;
        }
        Ok(Exit::Done)
    }

    /// Writes to a temporary name first: a file with the requested name is complete.
    async fn write_archive(
        &self,
        scan: &dyn Scan,
        console: &Console,
    ) -> Result<ArchiveHead, ArchiveError> {
        let mut name = self.file.as_os_str().to_owned();
        name.push(".part");
        let part = PathBuf::from(name);
        let written = write_archive_into(&part, scan, console).await;
        let kept = written.and_then(|head| Ok(fs::rename(&part, &self.file).map(|()| head)?));
        if kept.is_err() {
            let _ = fs::remove_file(&part);
        }
        kept
    }
}

async fn write_archive_into(
    part: &std::path::Path,
    scan: &dyn Scan,
    console: &Console,
) -> Result<ArchiveHead, ArchiveError> {
    let writer = ArchiveWriter::begin(BufWriter::new(File::create(part)?))?;
    let mut counted = ByteCountingWriter { writer, bar: console.bar("exporting"), head: None };
    scan.export(&mut counted).await?;
    let out = counted.writer.end()?.into_inner().map_err(|error| error.into_error())?;
    out.sync_all()?;
    counted.head.ok_or(ArchiveError::NotAnExport)
}

/// Counts the written bytes.
struct ByteCountingWriter<W: Write> {
    writer: ArchiveWriter<W>,
    bar: ProgressMeter,
    head: Option<ArchiveHead>,
}

impl<W: Write + Send> ArchiveSink for ByteCountingWriter<W> {
    fn head(&mut self, head: &ArchiveHead) -> Result<(), ArchiveError> {
        self.bar.expect(head.rows());
        self.head = Some(head.clone());
        self.writer.head(head)
    }

    fn write_row(&mut self, table: usize, row: ArchiveRow) -> Result<(), ArchiveError> {
        self.bar.advance(1);
        self.writer.write_row(table, row)
    }
}
