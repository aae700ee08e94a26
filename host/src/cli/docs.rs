//! `segno docs`.

use std::{fs, path::PathBuf};

use clap::Args;
use serde::Serialize;

use super::{CliError, Console, Exit};

/// Write the documentation of this version as a site of files
///
/// Any server of files serves them, and a browser opens them as they are. A host has the same pages,
/// with no token, at /docs/.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno docs -o site && xdg-open site/index.html")]
pub(super) struct DocsArgs {
    /// Folder of the site; files of the same names in it are overwritten
    #[arg(long, short, value_name = "FOLDER")]
    output: PathBuf,
}

#[derive(Serialize)]
struct DocsOutput {
    folder: String,
    files: usize,
    bytes: usize,
}

impl DocsArgs {
    pub(super) fn run(self, console: &mut Console) -> Result<Exit, CliError> {
        let (mut files, mut bytes) = (0, 0);
        for (path, content) in segno_docs::export() {
            let file = self.output.join(path);
            let folder = file.parent().unwrap_or(&self.output);
            let written = fs::create_dir_all(folder).and_then(|()| fs::write(&file, &content));
            written.map_err(|source| CliError::File {
                what: "write",
                path: file.display().to_string(),
                source,
            })?;
            files += 1;
            bytes += content.len();
        }
        let folder = self.output.display().to_string();
        if console.json() {
            console.document(&DocsOutput { folder, files, bytes })?;
        } else {
            let first = self.output.join("index.html");
            console.line(format!("{}  {files} files, {} kB", first.display(), bytes / 1_000))?;
        }
        Ok(Exit::Done)
    }
}
