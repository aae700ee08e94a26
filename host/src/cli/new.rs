//! `segno new`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use segno_build::template::{self, Template};

use super::{CliError, Console, Exit, build::other, console::CYAN};

/// Create a project that builds, runs and passes its tests without changes
///
/// A project in TypeScript, JavaScript or Python has Segno's package for the language in its folder
/// `vendor`. The package for TypeScript and JavaScript is compiled once, with a compiler from npm.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno new my-flow
  segno new my-flow --lang ts && cd my-flow && npm install && npm test
  segno new my-flow --lang py")]
pub(super) struct NewArgs {
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
    /// A crate
    Rust,
    /// TypeScript; needs Node 20
    Ts,
    /// JavaScript with checked types; needs Node 20
    Js,
    /// Python; needs Python 3.11
    Py,
}

impl From<TemplateLanguage> for Template {
    fn from(lang: TemplateLanguage) -> Self {
        match lang {
            TemplateLanguage::Rust => Self::Rust,
            TemplateLanguage::Ts => Self::TypeScript,
            TemplateLanguage::Js => Self::JavaScript,
            TemplateLanguage::Py => Self::Python,
        }
    }
}

impl TemplateLanguage {
    /// The commands that test a new project.
    fn tests(self) -> &'static str {
        match self {
            Self::Rust => {
                "  cargo test                  # the workflow, natively and in virtual time"
            }
            Self::Ts | Self::Js => {
                "  npm install && npm test     # the workflow, natively and in virtual time"
            }
            Self::Py => {
                "  python3 -m venv .venv && .venv/bin/pip install -r requirements.txt
  .venv/bin/pytest            # the workflow, natively and in virtual time"
            }
        }
    }
}

impl NewArgs {
    pub(super) fn run(self, console: &mut Console) -> Result<Exit, CliError> {
        let template = Template::from(self.lang);
        let path = self.path.display().to_string();
        let progress = console.progress(format!("creating {path}"));
        let created = template::create(&self.path, template, &progress);
        drop(progress);
        let name = created.map_err(|error| other("no-new-crate", &error))?;
        if console.json() {
            let language = template.name();
            console.document(
                &serde_json::json!({ "name": name.as_str(), "path": path, "language": language }),
            )?;
            return Ok(Exit::Done);
        }
        let shown = console.paint(CYAN, name.as_str());
        console.line(format!("{shown} is in {path}"))?;
        console.line(format!("\nwhat next:\n  cd {path}"))?;
        console.line(self.lang.tests())?;
        console.line("  segno serve &               # a host, if none runs yet")?;
        console.line(
            "  segno deploy . --prepare    # builds and uploads it; fetches the tools for it",
        )?;
        console.line("  segno dev                   # or all of this after every change")?;
        Ok(Exit::Done)
    }
}
