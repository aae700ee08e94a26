//! `segno bundle`.

use std::{
    fs::{self, File},
    io::{BufReader, BufWriter, Read, Write as _},
    path::{Path, PathBuf},
};

use clap::Args;
use segno_api::model::BundleQuery;
use segno_bundle::{BundleError, BundleItem, BundleReader, BundleRole, ChainLink, EXTENSION};
use segno_client::{BundleDownload, Client};
use segno_core::id::Digest;
use serde_json::json;

use super::{
    CliError, Console, Exit,
    build::other,
    bundled_blobs::BundledBlob,
    console::{CYAN, DIM, YELLOW},
    show::size,
};

/// Write an invocation into one file, which can be replayed anywhere without a host
///
/// The file has the journal, logs, streams and values of the invocation, the components that ran it
/// and the settings of the engine, all as of one instant. A hash chain covers every byte: a changed byte is
/// found, and its place is named. Anyone with the file can read the values in it, unless --redact
/// hides them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno bundle order-1001                         # writes order-1001.segno-bundle
  segno bundle order-1001 --tree -o order.segno-bundle
  segno bundle order-1001 --tree --blobs          # with the files that it works on
  segno bundle order-1001 --redact                # for people who must not see the data
  segno bundle --in-flight shop -o shop.segno-bundle
  segno replay order-1001.segno-bundle            # no host, no network")]
pub(super) struct BundleArgs {
    /// Id of the invocation
    #[arg(required_unless_present = "in_flight", conflicts_with = "in_flight")]
    id: Option<String>,
    /// All executions of this module's functions that have not ended, by the module's name
    #[arg(long, value_name = "MODULE")]
    in_flight: Option<String>,
    /// New file to write (default: the id or the name, with .segno-bundle)
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// With all its descendants: its calls and promises, and theirs
    #[arg(long)]
    tree: bool,
    /// Hide values and keep shapes; a replay may then differ where the code looks at a value
    #[arg(long)]
    redact: bool,
    /// Without the components: a replay needs them from elsewhere
    #[arg(long)]
    without_modules: bool,
    /// With the content of the blobs that its values refer to; `segno blob` reads them from the file
    #[arg(long, conflicts_with = "redact")]
    blobs: bool,
}

impl BundleArgs {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let file = self.file()?;
        if file.exists() {
            let file = file.display();
            return Err(CliError::Usage(format!(
                "`{file}` exists: name another file, or remove it"
            )));
        }
        let query = BundleQuery {
            tree: self.tree.then_some(true),
            redact: self.redact.then_some(true),
            without_modules: self.without_modules.then_some(true),
            blobs: self.blobs.then_some(true),
        };
        let progress = console.progress("bundling");
        let download = match (&self.id, &self.in_flight) {
            (Some(id), _) => client.bundle(id, &query).await?,
            (None, module) => {
                client.bundle_in_flight(module.as_deref().unwrap_or_default(), &query).await?
            }
        };
        let summary = receive(&file, download).await?;
        drop(progress);
        self.report(&file, &summary, console)?;
        Ok(Exit::Done)
    }

    /// The file to write: an id may have characters that a file name must not have.
    fn file(&self) -> Result<PathBuf, CliError> {
        if let Some(file) = &self.output {
            return Ok(file.clone());
        }
        let name = self.id.as_deref().or(self.in_flight.as_deref()).unwrap_or_default();
        let plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.');
        let name: String =
            name.chars().map(|letter| if plain(letter) { letter } else { '_' }).collect();
        let name = name.trim_start_matches('.');
        if name.is_empty() || name.len() > 200 {
            return Err(CliError::Usage("the id makes no file name; give one with -o".to_owned()));
        }
        Ok(PathBuf::from(format!("{name}.{}", EXTENSION)))
    }

    fn report(
        &self,
        file: &Path,
        summary: &Summary,
        console: &mut Console,
    ) -> Result<(), CliError> {
        let bytes = fs::metadata(file).map_or(0, |file| file.len());
        let Summary { executions, records, streams, stream_bytes, missing, blobs, seal } = summary;
        let missing: Vec<String> = missing.iter().map(ToString::to_string).collect();
        if console.json() {
            return console.document(&json!({
                "file": file,
                "bytes": bytes,
                "executions": executions,
                "records": records,
                "streams": streams,
                "stream_bytes": stream_bytes,
                "redacted": self.redact,
                "missing_modules": missing,
                "blobs": blobs,
                "seal": seal.to_string(),
            }));
        }
        let name = console.paint(CYAN, &file.display().to_string());
        let executions = match executions {
            1 => "1 execution".to_owned(),
            count => format!("{count} executions"),
        };
        let streams = match streams {
            0 => String::new(),
            1 => format!(" 1 stream of {},", size(*stream_bytes)),
            count => format!(" {count} streams of {},", size(*stream_bytes)),
        };
        let size = size(bytes);
        console.line(format!("{name}  {executions}, {records} records,{streams} {size}"))?;
        for (is_carried, lead) in [(true, "carried"), (false, "only named")] {
            let some = || blobs.iter().filter(|blob| blob.carried == is_carried);
            let count = match some().count() {
                0 => continue,
                1 => "1 blob".to_owned(),
                count => format!("{count} blobs"),
            };
            let bytes = super::show::size(some().map(|blob| blob.blob.bytes).sum());
            console.line(format!("  {count} of {bytes} {lead}"))?;
        }
        console.line(console.paint(DIM, &format!("  seal {seal}")))?;
        if self.redact {
            let lead = console.paint(YELLOW, "values are hidden:");
            console.paragraph(
                "",
                &format!("{lead} a replay may differ where the code looks at a value"),
                0,
            )?;
        }
        if !missing.is_empty() && !self.without_modules {
            let lead = console.paint(YELLOW, "without its code:");
            let text =
                format!("{lead} the host has no component of {} any more", missing.join(", "));
            console.paragraph("", &text, 0)?;
        }
        Ok(())
    }
}

/// Summary of a bundle's contents.
struct Summary {
    /// Number of executions with a journal.
    executions: usize,
    records: usize,
    streams: usize,
    /// Bytes of the items of all streams.
    stream_bytes: u64,
    /// Modules without their components.
    missing: Vec<Digest>,
    blobs: Vec<BundledBlob>,
    seal: ChainLink,
}

/// Writes to a temporary name first and reads the file back: a file with the requested name is
/// complete.
async fn receive(file: &Path, download: BundleDownload) -> Result<Summary, CliError> {
    let mut name = file.as_os_str().to_owned();
    name.push(".part");
    let part = PathBuf::from(name);
    let received = receive_into(&part, download).await;
    let kept = received.and_then(|summary| {
        fs::rename(&part, file).map_err(|source| cannot_write(file, source))?;
        Ok(summary)
    });
    if kept.is_err() {
        let _ = fs::remove_file(&part);
    }
    kept
}

async fn receive_into(part: &Path, mut download: BundleDownload) -> Result<Summary, CliError> {
    let failed = |source| cannot_write(part, source);
    let mut out = BufWriter::new(File::create(part).map_err(failed)?);
    while let Some(chunk) = download.chunk().await? {
        out.write_all(&chunk).map_err(failed)?;
    }
    let out = out.into_inner().map_err(|error| failed(error.into_error()))?;
    out.sync_all().map_err(failed)?;
    let written = File::open(part).map_err(failed)?;
    summary(BufReader::new(written)).map_err(|error| other("not-received", &error))
}

/// Reads a bundle to its end, which proves that it is complete.
fn summary(from: impl Read) -> Result<Summary, BundleError> {
    let mut reader = BundleReader::begin(from)?;
    let (mut executions, mut records, mut missing) = (0, 0, Vec::new());
    let (mut streams, mut stream_bytes, mut carried) = (0, 0, Vec::new());
    while let Some(item) = reader.next_item()? {
        match item {
            BundleItem::Execution(execution) => {
                executions += usize::from(execution.role != BundleRole::Value)
            }
            BundleItem::Record(_) => records += 1,
            BundleItem::Line(_) | BundleItem::BlobPiece(_) => {}
            BundleItem::Blob(blob) => carried.push(blob),
            BundleItem::Stream(_) => streams += 1,
            BundleItem::StreamItems(items) => stream_bytes += items.data.len() as u64,
            BundleItem::Module(module) => missing.push(module.digest),
            BundleItem::Component(_) => drop(missing.pop()),
        }
    }
    let (seal, blobs) = (reader.seal(), BundledBlob::all(carried, &reader));
    Ok(Summary { executions, records, streams, stream_bytes, missing, blobs, seal })
}

fn cannot_write(path: &Path, source: std::io::Error) -> CliError {
    CliError::File { what: "write", path: path.display().to_string(), source }
}
