//! `segno export`.

use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    path::PathBuf,
};

use clap::Args;
use serde_json::json;

use crate::store::{
    Survey,
    house::{Head, HouseError, Packer, Row, Van},
};

use super::{CliError, Console, Exit, build::other, console::Bar, place::Place, show::size};

/// Write a whole store into one file, to move it
///
/// The file contains everything at one instant: executions with their journals and logs, modules,
/// names, schedules, messages owed. A host may run meanwhile, but later changes are not in the
/// file: stop the host before a move.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno export store.segno
  segno export --store /var/lib/segno /backup/store.segno
  segno export store.segno && segno import --store /srv/segno store.segno")]
pub struct Export {
    #[command(flatten)]
    place: Place,
    /// New file to write
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

impl Export {
    pub(super) async fn run(self, console: &mut Console) -> Result<Exit, CliError> {
        if self.file.exists() {
            let file = self.file.display();
            return Err(CliError::Usage(format!(
                "`{file}` exists: name another file, or remove it"
            )));
        }
        let look = self.place.look().await?;
        let packed = self.pack(look.survey(), console).await;
        look.close().await;
        let head = packed.map_err(|error| other("not-exported", &error))?;
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

    /// The archive is written under another name first, so that a file under the given name is
    /// complete.
    async fn pack(&self, survey: &dyn Survey, console: &Console) -> Result<Head, HouseError> {
        let mut name = self.file.as_os_str().to_owned();
        name.push(".part");
        let part = PathBuf::from(name);
        let packed = pack_into(&part, survey, console).await;
        let kept = packed.and_then(|head| Ok(fs::rename(&part, &self.file).map(|()| head)?));
        if kept.is_err() {
            let _ = fs::remove_file(&part);
        }
        kept
    }
}

async fn pack_into(
    part: &std::path::Path,
    survey: &dyn Survey,
    console: &Console,
) -> Result<Head, HouseError> {
    let packer = Packer::begin(BufWriter::new(File::create(part)?))?;
    let mut counted = Counted { packer, bar: console.bar("exporting"), head: None };
    survey.move_out(&mut counted).await?;
    let out = counted.packer.end()?.into_inner().map_err(|error| error.into_error())?;
    out.sync_all()?;
    counted.head.ok_or(HouseError::NotAnExport)
}

/// Counts the bytes written.
struct Counted<W: Write> {
    packer: Packer<W>,
    bar: Bar,
    head: Option<Head>,
}

impl<W: Write + Send> Van for Counted<W> {
    fn head(&mut self, head: &Head) -> Result<(), HouseError> {
        self.bar.expect(head.rows());
        self.head = Some(head.clone());
        self.packer.head(head)
    }

    fn load(&mut self, table: usize, row: Row) -> Result<(), HouseError> {
        self.bar.advance(1);
        self.packer.load(table, row)
    }
}
