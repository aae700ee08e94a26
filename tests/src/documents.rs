//! The README and the documents, as far as they are checked: their fenced blocks.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// A fenced block.
#[derive(Debug)]
pub struct Block {
    /// The document, from the repository.
    pub file: String,
    /// The heading above it.
    pub section: String,
    /// What stands behind the fence.
    pub language: String,
    /// What is between the fences.
    pub text: String,
}

impl Block {
    /// The commands of a block that shows a shell.
    pub fn commands(&self) -> Vec<&str> {
        self.text.lines().filter_map(|line| line.strip_prefix("$ ")).collect()
    }

    /// What is shown below each command.
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

/// The folder with everything.
///
/// # Panics
/// Never, in a checkout.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("it is in the repository").to_owned()
}

/// The README and the documents, in this order.
///
/// # Panics
/// The folder cannot be read.
pub fn files() -> Vec<PathBuf> {
    let documents = fs::read_dir(repository().join("docs")).expect("there are documents");
    let documents = documents.map(|entry| entry.expect("it can be read").path());
    // Beside them is a folder of pictures.
    let is_text = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "md");
    let mut files: Vec<PathBuf> = documents.filter(is_text).collect();
    files.sort();
    files.insert(0, repository().join("README.md"));
    files
}

/// Their fenced blocks.
///
/// # Panics
/// One of them cannot be read, or a block is not closed.
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
