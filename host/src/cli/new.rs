//! `segno new`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use segno_build::{Language, template};

use super::{CliError, Console, Exit, build::other, console::CYAN};

/// Create a project that builds and runs without changes
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno new my-flow
  segno new my-flow --lang js && cd my-flow && segno deploy . --prepare")]
pub struct NewArgs {
    /// New folder, whose name becomes the project's
    #[arg(value_name = "NAME")]
    path: PathBuf,
    /// Language of the project
    #[arg(long, value_enum, value_name = "LANGUAGE", default_value_t = TemplateLanguage::Rust)]
    lang: TemplateLanguage,
}

/// The languages that have a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TemplateLanguage {
    /// A crate with tests
    Rust,
    /// JavaScript, or TypeScript without checks of its types; needs Node 20
    Js,
    /// Python; needs Python 3.10
    Py,
}

impl From<TemplateLanguage> for Language {
    fn from(lang: TemplateLanguage) -> Self {
        match lang {
            TemplateLanguage::Rust => Self::Rust,
            TemplateLanguage::Js => Self::JavaScript,
            TemplateLanguage::Py => Self::Python,
        }
    }
}

impl NewArgs {
    pub(super) fn run(self, console: &mut Console) -> Result<Exit, CliError> {
        let name = template::create(&self.path, self.lang.into())
            .map_err(|error| other("no-new-crate", &error))?;
        let path = self.path.display().to_string();
        if console.json() {
            let language = Language::from(self.lang).name();
            console.document(
                &serde_json::json!({ "name": name.as_str(), "path": path, "language": language }),
            )?;
            return Ok(Exit::Done);
        }
        let shown = console.paint(CYAN, name.as_str());
        console.line(format!("{shown} is in {path}"))?;
        console.line(format!("\nwhat next:\n  cd {path}"))?;
        if self.lang == TemplateLanguage::Rust {
            console.line(
                "  cargo test                  # the workflow, natively and in virtual time",
            )?;
        }
        console.line("  segno serve &               # a host, if none runs yet")?;
        console.line(
            "  segno deploy . --prepare    # builds and uploads it; fetches the tools for it",
        )?;
        console.line("  segno dev                   # or all of this after every change")?;
        Ok(Exit::Done)
    }
}
