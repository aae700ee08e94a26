//! `segno types`.

use std::{fs, path::PathBuf};

use clap::{Args, ValueEnum};
use segno_api::model::ModuleDescription;
use segno_build::Project;
use segno_client::{Client, ClientError};
use segno_core::{address::service_of_alias, id::Digest};
use segno_types::{TypesLanguage, TypesRequest, types_file, without_header};

use super::{
    CliError, Console, Exit,
    build::{BuildFlags, build, describe},
    deploy::{name_of, read_component},
};

/// Write types and typed references for programs that call a module
///
/// They come from the JSON schemas that the module has: a type for each input, output, signal,
/// promise, query and update, and a reference for each function, which the packages for workflows
/// and the clients take in place of a name. The compiler of the other program then checks its
/// calls.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno types shop --lang ts --out src/shop.ts
  segno types ../shop --lang py --out shop_types.py    # a project, without a host
  segno types shop.wasm --lang rust --as shop-eu
  segno types shop --lang ts --check src/shop.ts       # exit code 1: the file is out of date")]
pub(super) struct TypesArgs {
    /// Name or digest of a module of the host, or a component file, or the folder of a project
    #[arg(value_name = "MODULE|FILE|PROJECT")]
    module: String,
    /// Language of the types
    #[arg(long, value_name = "LANGUAGE", value_enum)]
    lang: LanguageName,
    /// Name by which the module is called (default: that of the module, file or project)
    #[arg(long = "as", value_name = "NAME")]
    alias: Option<String>,
    /// File for the types (default: standard output)
    #[arg(long, value_name = "FILE", conflicts_with = "check")]
    out: Option<PathBuf>,
    /// Write nothing; fail if this file has other types. Its header does not count
    #[arg(long, value_name = "FILE")]
    check: Option<PathBuf>,
    #[command(flatten)]
    how: BuildFlags,
}

/// The name of a language of types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LanguageName {
    /// TypeScript, for `@segno/client` and `@segno/sdk`
    Ts,
    /// Python, for `segno-client` and `segno-sdk`
    Py,
    /// Rust, for the crate `segno-client`
    Rust,
}

/// The types with what they were made from.
#[derive(serde::Serialize)]
struct TypesOutput<'a> {
    module: &'a str,
    digest: &'a str,
    text: &'a str,
}

/// A module whose types are written.
struct DescribedModule {
    name: Option<String>,
    digest: String,
    description: ModuleDescription,
}

impl TypesArgs {
    pub(super) async fn run(
        self,
        client: impl FnOnce() -> Result<Client, ClientError>,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let known = self.described(client, console).await?;
        let Some(name) = self.alias.clone().or(known.name) else {
            let message = format!(
                "calls name a module and not a digest, and `{}` has no name or several: give one \
                 with --as NAME",
                self.module
            );
            return Err(CliError::Usage(message));
        };
        if service_of_alias(&name).is_some() {
            let message = format!(
                "`{name}` is a deployment of Restate services: types are written for modules"
            );
            return Err(CliError::Usage(message));
        }
        let (language, word) = match self.lang {
            LanguageName::Ts => (TypesLanguage::TypeScript, "ts"),
            LanguageName::Py => (TypesLanguage::Python, "py"),
            LanguageName::Rust => (TypesLanguage::Rust, "rust"),
        };
        let alias = self.alias.iter().map(|alias| format!(" --as {alias}")).collect::<String>();
        let command = format!("segno types {} --lang {word}{alias}", self.module);
        let request = TypesRequest {
            module: &name,
            digest: &known.digest,
            command: &command,
            description: &known.description,
        };
        let text = types_file(&request, language);
        if let Some(file) = &self.check {
            let file_text = fs::read_to_string(file).map_err(|source| CliError::File {
                what: "read",
                path: file.display().to_string(),
                source,
            })?;
            // Git may have written other ends of lines.
            if without_header(&file_text.replace("\r\n", "\n")) != without_header(&text) {
                let file = file.display();
                return Err(CliError::Other {
                    code: "types-differ",
                    message: format!(
                        "{file} has other types than the module `{name}`: write it with \
                         `{command} --out {file}`"
                    ),
                });
            }
            return Ok(Exit::Done);
        }
        if let Some(file) = &self.out {
            fs::write(file, &text).map_err(|source| CliError::File {
                what: "write",
                path: file.display().to_string(),
                source,
            })?;
        } else if console.json() {
            console.document(&TypesOutput { module: &name, digest: &known.digest, text: &text })?;
        } else {
            console.raw(text.as_bytes())?;
        }
        Ok(Exit::Done)
    }

    /// The description of the module: of a project that is built, of a file, or of the host.
    async fn described(
        &self,
        client: impl FnOnce() -> Result<Client, ClientError>,
        console: &mut Console,
    ) -> Result<DescribedModule, CliError> {
        let path = PathBuf::from(&self.module);
        let (name, component) = if Project::is_at(&path) {
            let built = build(&path, self.how.clone(), console).await?;
            (built.package, built.component)
        } else if path.is_file() {
            (name_of(&path)?, read_component(&path)?)
        } else if self.module.contains(['/', '\\']) || self.module.ends_with(".wasm") {
            let message = format!("there is no file and no project `{}`", self.module);
            return Err(CliError::Usage(message));
        } else {
            let module = client()?.module(&self.module).await?;
            let is_named = module.aliases.contains(&self.module);
            let name = match module.aliases.as_slice() {
                _ if is_named => Some(self.module.clone()),
                [only] => Some(only.clone()),
                _ => None,
            };
            let description = module.description;
            return Ok(DescribedModule { name, digest: module.digest, description });
        };
        let digest = Digest::of(&component).to_string();
        let description = describe(component.into()).await?;
        Ok(DescribedModule { name: Some(name), digest, description })
    }
}
