//! `segno docs`.

use std::{fs, path::PathBuf};

use clap::{Args, ValueEnum};
use segno_docs::{LlmsLocation, llms, llms_full};
use serde::Serialize;

use super::{CliError, Console, Exit};

/// Write the documentation of this version as a site of files, or as text for language models
///
/// Any server of files serves the site, and a browser opens it as it is. A host has the same pages,
/// with no token, at /docs/, and the texts at /llms.txt and /llms-full.txt.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno docs -o site && xdg-open site/index.html
  segno docs --llms full >llms-full.txt")]
pub(super) struct DocsArgs {
    /// Folder of the site; files of the same names in it are overwritten
    #[arg(long, short, value_name = "FOLDER", required_unless_present = "llms")]
    output: Option<PathBuf>,
    /// Print a text for language models: the list of all pages, or their whole text
    #[arg(long, value_enum, value_name = "EXTENT", conflicts_with = "output")]
    llms: Option<LlmsExtent>,
}

/// The extent of a text for language models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LlmsExtent {
    /// The list of all pages (`llms.txt`).
    List,
    /// The text of all pages (`llms-full.txt`).
    Full,
}

#[derive(Serialize)]
struct DocsOutput {
    folder: String,
    files: usize,
    bytes: usize,
}

impl DocsArgs {
    pub(super) fn run(self, console: &mut Console) -> Result<Exit, CliError> {
        let Some(output) = &self.output else {
            let text = match self.llms {
                Some(LlmsExtent::Full) => llms_full(),
                Some(LlmsExtent::List) | None => llms(LlmsLocation::Folder),
            };
            match console.json() {
                true => console.document(&text)?,
                false => console.line(text.trim_end())?,
            }
            return Ok(Exit::Done);
        };
        let (mut files, mut bytes) = (0, 0);
        for (path, content) in segno_docs::export() {
            let file = output.join(path);
            let folder = file.parent().unwrap_or(output);
            let written = fs::create_dir_all(folder).and_then(|()| fs::write(&file, &content));
            written.map_err(|source| CliError::File {
                what: "write",
                path: file.display().to_string(),
                source,
            })?;
            files += 1;
            bytes += content.len();
        }
        let folder = output.display().to_string();
        if console.json() {
            console.document(&DocsOutput { folder, files, bytes })?;
        } else {
            let first = output.join("index.html");
            console.line(format!("{}  {files} files, {} kB", first.display(), bytes / 1_000))?;
        }
        Ok(Exit::Done)
    }
}
