//! `segno blob`.

use std::{
    fs::File,
    io::{self, Read, Write as _},
    path::{Path, PathBuf},
};

use clap::{Args, Subcommand};
use futures::stream;
use segno_api::model::{BlobView, ListedBlob};
use segno_blobs::{BlobCheck, BlobReference, DEFAULT_CONTENT_TYPE};
use segno_client::{BlobDownload, Client, ClientError};

use super::{
    CliError, Console, Exit,
    build::other,
    bundled,
    bundled_blobs::{BundledBlob, write_content},
    console::DIM,
    item_table::ItemTable,
    show::{plain, size},
    table::TextColumn,
    time::{now_ms, relative},
};

/// Number of bytes that are read in one go.
const CHUNK: usize = 256 << 10;

/// Store and read large values, which executions pass by reference
///
/// A blob belongs to the invocation that it was stored for, or to the root of its tree, and is
/// removed with it. The host needs a place for blobs: `segno serve --blobs DIR`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno blob put scan-17 scan.pdf --content-type application/pdf     # prints the reference
  segno start scans/read --id scan-17 --input \"$(segno blob put scan-17 scan.pdf)\"
  segno blob list scan-17
  segno blob get scan-17/blob/9f86d081… --output scan.pdf
  segno blob get scan-17 9f86d081… --range 0-1023
  segno blob list scan-17.segno-bundle                               # of a bundle: no host
  segno blob get scan-17.segno-bundle 9f86d081… --output scan.pdf")]
pub(super) struct BlobArgs {
    #[command(subcommand)]
    command: BlobCommand,
}

#[derive(Debug, Subcommand)]
enum BlobCommand {
    Put(BlobPutArgs),
    Get(BlobGetArgs),
    List(BlobListArgs),
    Rm(BlobRmArgs),
}

/// Store a file as a blob of an invocation, which need not exist yet
#[derive(Debug, Args)]
struct BlobPutArgs {
    /// Id of the invocation
    id: String,
    /// File, or - for standard input
    file: PathBuf,
    /// Content type
    #[arg(long, value_name = "TYPE", default_value = DEFAULT_CONTENT_TYPE)]
    content_type: String,
}

/// Read a blob
#[derive(Debug, Args)]
struct BlobGetArgs {
    #[command(flatten)]
    blob: NamedBlob,
    /// New file to write (default: standard output)
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// First and last byte to read, like 0-1023, 1024- or -1024 for the end
    #[arg(long, value_name = "FIRST-LAST", allow_hyphen_values = true)]
    range: Option<String>,
}

/// List the blobs of an invocation
#[derive(Debug, Args)]
struct BlobListArgs {
    /// Id of the invocation, or a bundle
    #[arg(value_name = "ID|FILE.segno-bundle")]
    id: String,
}

/// Remove a blob
#[derive(Debug, Args)]
struct BlobRmArgs {
    #[command(flatten)]
    blob: NamedBlob,
}

/// A blob on the command line.
#[derive(Debug, Args)]
struct NamedBlob {
    /// Reference of the blob (its JSON, or ID/blob/DIGEST), or the id of the invocation, or a bundle
    #[arg(value_name = "REFERENCE|ID|FILE.segno-bundle")]
    blob: String,
    /// SHA-256 of the content, after an id
    digest: Option<String>,
}

impl NamedBlob {
    /// The id of the owner and the digest.
    fn parts(&self) -> Result<(String, String), CliError> {
        let wrong = |error: &dyn std::fmt::Display| CliError::Usage(error.to_string());
        if let Some(digest) = &self.digest {
            return Ok((self.blob.clone(), digest.clone()));
        }
        let (owner, digest) = match self.blob.starts_with('{') {
            true => BlobReference::from_json(&self.blob)
                .map(|blob| (blob.owner, blob.digest))
                .map_err(|error| wrong(&error))?,
            false => BlobReference::parse_id(&self.blob).map_err(|error| wrong(&error))?,
        };
        Ok((owner.to_string(), digest.to_string()))
    }
}

impl BlobArgs {
    pub(super) async fn run(
        self,
        client: impl FnOnce() -> Result<Client, ClientError>,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        match self.command {
            BlobCommand::Put(command) => command.run(&client()?, console).await,
            BlobCommand::Get(command) => match bundled::named(&command.blob.blob) {
                Some(file) => command.run_on_bundle(&file, console),
                None => command.run(&client()?, console).await,
            },
            BlobCommand::List(command) => match bundled::named(&command.id) {
                Some(file) => list_of_bundle(&file, console),
                None => command.run(&client()?, console).await,
            },
            BlobCommand::Rm(command) => command.run(&client()?).await,
        }
    }
}

impl BlobPutArgs {
    async fn run(self, client: &Client, console: &mut Console) -> Result<Exit, CliError> {
        let unreadable =
            |source| CliError::File { what: "read", path: self.file.display().to_string(), source };
        let (content, length): (Box<dyn Read + Send>, _) = match self.file.to_str() {
            Some("-") => (Box::new(io::stdin()), None),
            _ => {
                let file = File::open(&self.file).map_err(unreadable)?;
                let metadata = file.metadata().map_err(unreadable)?;
                if metadata.is_dir() {
                    return Err(unreadable(io::ErrorKind::IsADirectory.into()));
                }
                (Box::new(file), metadata.is_file().then_some(metadata.len()))
            }
        };
        let pieces = stream::unfold(content, |mut content| async move {
            let mut piece = Vec::with_capacity(CHUNK);
            match content.by_ref().take(CHUNK as u64).read_to_end(&mut piece) {
                Ok(0) => None,
                Ok(_) => Some((Ok(piece), content)),
                Err(error) => Some((Err(error), content)),
            }
        });
        let progress = console.progress("storing");
        let blob = client.upload_blob(&self.id, &self.content_type, length, pieces).await?;
        drop(progress);
        // The reference is JSON also for people: it is what they pass on.
        match console.json() {
            true => console.document(&blob)?,
            false => console.line(serde_json::to_string(&blob).map_err(io::Error::from)?)?,
        }
        Ok(Exit::Done)
    }
}

impl BlobGetArgs {
    async fn run(self, client: &Client, console: &mut Console) -> Result<Exit, CliError> {
        let (id, digest) = self.blob.parts()?;
        let mut download = client.download_blob(&id, &digest, self.range.as_deref()).await?;
        if self.range.is_some() && !download.is_part() {
            return Err(CliError::Usage(
                "--range takes the first and the last byte: 0-1023, 1024- or -1024".to_owned(),
            ));
        }
        let mut check = self.check(&id, &digest, &download)?;
        match &self.output {
            Some(file) => {
                let mut part = PartFile::new(file)?;
                receive(&mut download, check.as_mut(), |piece| part.write(piece)).await?;
                part.keep()?;
            }
            None => {
                let is_text = download.content_type().starts_with("text/");
                if console.width().is_some() && !is_text {
                    return Err(CliError::Usage(format!(
                        "the blob is {}, which does not belong on a terminal: name a file with --output",
                        plain(download.content_type())
                    )));
                }
                receive(&mut download, check.as_mut(), |piece| match is_text {
                    true if console.width().is_some() => {
                        let text = String::from_utf8_lossy(piece);
                        console.raw(super::text::tame(&text, false).as_bytes())
                    }
                    _ => console.raw(piece),
                })
                .await?;
            }
        }
        Ok(Exit::Done)
    }

    /// Reads the blob from a bundle that carries it.
    fn run_on_bundle(self, file: &Path, console: &mut Console) -> Result<Exit, CliError> {
        let digest = self.blob.digest.as_deref().unwrap_or_default();
        let digest = digest.rsplit('/').next().unwrap_or_default().parse().map_err(|_| {
            CliError::Usage("name the SHA-256 of the blob after the bundle".to_owned())
        })?;
        if self.range.is_some() {
            return Err(CliError::Usage("--range is for blobs of a host".to_owned()));
        }
        match &self.output {
            Some(output) => {
                let mut part = PartFile::new(output)?;
                write_content(file, digest, |piece| part.write(piece))?;
                part.keep()?;
            }
            None if console.width().is_some() => {
                return Err(CliError::Usage("name a file with --output".to_owned()));
            }
            None => write_content(file, digest, |piece| console.raw(piece))?,
        }
        Ok(Exit::Done)
    }

    /// The check of a whole blob.
    fn check(
        &self,
        id: &str,
        digest: &str,
        download: &BlobDownload,
    ) -> Result<Option<BlobCheck>, CliError> {
        let Some(bytes) = download.length().filter(|_| self.range.is_none()) else {
            return Ok(None);
        };
        let digest =
            digest.parse().map_err(|error| CliError::Usage(format!("the digest: {error}")))?;
        let content_type = download.content_type().to_owned();
        let blob = BlobReference { owner: id.into(), digest, bytes, content_type };
        Ok(Some(BlobCheck::new(blob)))
    }
}

async fn receive(
    download: &mut BlobDownload,
    mut check: Option<&mut BlobCheck>,
    mut write: impl FnMut(&[u8]) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let mut at = 0;
    while let Some(piece) = download.chunk().await? {
        if let Some(check) = &mut check {
            check.add(at, &piece).map_err(|error| other("blob-damaged", &error))?;
        }
        at += piece.len() as u64;
        write(&piece)?;
    }
    Ok(())
}

/// A file that is written under a temporary name first: a file with the requested name is complete.
struct PartFile<'a> {
    file: &'a Path,
    part: PathBuf,
    out: File,
    is_kept: bool,
}

impl<'a> PartFile<'a> {
    fn new(file: &'a Path) -> Result<Self, CliError> {
        if file.exists() {
            let message = format!("`{}` exists: name another file, or remove it", file.display());
            return Err(CliError::Usage(message));
        }
        let mut name = file.as_os_str().to_owned();
        name.push(".part");
        let part = PathBuf::from(name);
        let out = File::create(&part).map_err(|source| cannot_write(file, source))?;
        Ok(Self { file, part, out, is_kept: false })
    }

    fn write(&mut self, piece: &[u8]) -> Result<(), CliError> {
        self.out.write_all(piece).map_err(|source| cannot_write(self.file, source))
    }

    fn keep(mut self) -> Result<(), CliError> {
        std::fs::rename(&self.part, self.file).map_err(|source| cannot_write(self.file, source))?;
        self.is_kept = true;
        Ok(())
    }
}

impl Drop for PartFile<'_> {
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = std::fs::remove_file(&self.part);
        }
    }
}

fn cannot_write(file: &Path, source: io::Error) -> CliError {
    CliError::File { what: "write", path: file.display().to_string(), source }
}

/// Lists the blobs that a bundle carries or names.
fn list_of_bundle(file: &Path, console: &mut Console) -> Result<Exit, CliError> {
    let blobs = BundledBlob::list(file)?;
    if console.json() {
        console.document(&serde_json::json!({ "blobs": blobs }))?;
        return Ok(Exit::Done);
    }
    if blobs.is_empty() {
        let line = console.paint(DIM, "the bundle has no blobs");
        console.line(line)?;
        return Ok(Exit::Done);
    }
    let content = |blob: &BundledBlob| if blob.carried { "carried" } else { "named" }.to_owned();
    let table = ItemTable::new()
        .column(TextColumn::whole("BLOB"), |blob: &BundledBlob| plain(&blob.blob.id))
        .column(TextColumn::text("TYPE"), |blob| plain(&blob.blob.content_type))
        .column(TextColumn::number("SIZE"), |blob| size(blob.blob.bytes))
        .column(TextColumn::whole("CONTENT"), content);
    console.table(&table.rows(&blobs))?;
    Ok(Exit::Done)
}

impl BlobListArgs {
    async fn run(self, client: &Client, console: &mut Console) -> Result<Exit, CliError> {
        let list = client.blobs(&self.id).await?;
        if console.json() {
            console.document(&list)?;
            return Ok(Exit::Done);
        }
        if list.blobs.is_empty() {
            let line = format!("`{}` has no blobs", plain(&self.id));
            let line = console.paint(DIM, &line);
            console.line(line)?;
            return Ok(Exit::Done);
        }
        let now = now_ms();
        let table = ItemTable::new()
            .column(TextColumn::whole("DIGEST"), |listed: &ListedBlob| digest_of(&listed.blob))
            .column(TextColumn::text("TYPE"), |listed| plain(&listed.blob.content_type))
            .column(TextColumn::number("SIZE"), |listed| size(listed.blob.bytes))
            .column(TextColumn::whole("STORED").rank(1), move |listed| {
                relative(listed.stored_at_ms, now)
            });
        console.table(&table.rows(&list.blobs))?;
        if list.more {
            console.remark("there are more");
        }
        Ok(Exit::Done)
    }
}

impl BlobRmArgs {
    async fn run(self, client: &Client) -> Result<Exit, CliError> {
        let (id, digest) = self.blob.parts()?;
        client.remove_blob(&id, &digest).await?;
        Ok(Exit::Done)
    }
}

fn digest_of(blob: &BlobView) -> String {
    blob.id.rsplit_once('/').map_or(blob.id.as_str(), |(_, digest)| digest).to_owned()
}
