//! The fenced blocks of the README and the documents.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// A fenced block.
#[derive(Debug)]
pub struct Block {
    /// Path of the document, relative to the repository.
    pub file: String,
    /// Heading above the block.
    pub section: String,
    /// Text after the opening fence.
    pub language: String,
    /// Text between the fences.
    pub text: String,
}

impl Block {
    /// Commands of a block that shows a shell session.
    pub fn commands(&self) -> Vec<&str> {
        self.text.lines().filter_map(|line| line.strip_prefix("$ ")).collect()
    }

    /// Output shown below each command.
    pub fn answers(&self) -> Vec<String> {
        let mut answers: Vec<String> = Vec::new();
        for line in self.text.lines() {
            match (line.strip_prefix("$ "), answers.last_mut()) {
                (Some(_), _) => answers.push(String::new()),
                (None, Some(answer)) => answer.push_str(line.trim()),
                (None, None) => {}
            }
        }
        answers
    }
}

/// Root folder of the repository.
///
/// # Panics
/// Never, in a checkout.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("it is in the repository").to_owned()
}

/// Paths of the README and of the documents, in this order.
///
/// # Panics
/// If a folder cannot be read.
pub fn files() -> Vec<PathBuf> {
    let mut files = documents_in(&repository().join("docs"));
    files.sort();
    files.insert(0, repository().join("README.md"));
    files
}

fn documents_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("there are documents");
    let paths = entries.map(|entry| entry.expect("it can be read").path());
    let of = |path: PathBuf| match path.is_dir() {
        true => documents_in(&path),
        false => vec![path],
    };
    let all = paths.flat_map(of);
    all.filter(|path| path.extension().is_some_and(|ending| ending == "md")).collect()
}

/// Fenced blocks of all documents.
///
/// # Panics
/// If a document cannot be read, or a block is not closed.
pub fn blocks() -> Vec<Block> {
    files().iter().flat_map(|file| blocks_of(&repository(), file)).collect()
}

fn blocks_of(repository: &Path, file: &Path) -> Vec<Block> {
    let text = fs::read_to_string(file).expect("it can be read");
    let file = file.strip_prefix(repository).expect("it is inside").display().to_string();
    let (mut blocks, mut section, mut open) = (Vec::new(), String::new(), None::<Block>);
    for line in text.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(block), None) => block.text += &format!("{line}\n"),
            (None, Some(language)) => {
                let (file, section, language) =
                    (file.clone(), section.clone(), language.to_owned());
                open = Some(Block { file, section, language, text: String::new() });
            }
            (None, None) => {
                if let Some(heading) = line.strip_prefix('#') {
                    section = heading.trim_start_matches('#').trim().to_owned();
                }
            }
        }
    }
    assert!(open.is_none(), "{file}: the last block is not closed");
    blocks
}
