//! Bundles, opened as a host in this process: commands use it like any other host.

use std::{
    fs::{self, File},
    io::{BufReader, Read as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use segno_api::{AccessControl, Api, LocalApi};
use segno_bundle::{EXTENSION, is_bundle};
use segno_client::{Client, LocalHost};
use segno_core::id::PromiseId;
use segno_engine::bundles::{self, BundleContents, ContentsError};
use segno_env::Env;
use segno_guest::Limits;

use super::{CliError, Console, build::other, compile, deploy::read_component, show::plain};

/// Maximum number of ids named in an error.
const NAMED: usize = 8;

/// The bundles that were read.
pub(super) struct LoadedBundles {
    contents: BundleContents,
}

/// The bundle that an argument names, if it is a file with the extension or the beginning of a
/// bundle, and not the id of an invocation.
pub(super) fn named(argument: &str) -> Option<PathBuf> {
    let path = Path::new(argument);
    let ends = path.extension().is_some_and(|extension| extension == EXTENSION);
    let begins = || {
        let mut beginning = Vec::new();
        let file = File::open(path).ok().filter(|_| path.is_file())?;
        file.take(16).read_to_end(&mut beginning).ok()?;
        is_bundle(&beginning).then_some(())
    };
    (ends || begins().is_some()).then(|| path.to_owned())
}

impl LoadedBundles {
    /// Reads bundles, and the bundles in folders.
    ///
    /// # Errors
    /// The file that cannot be read or is damaged, and the place.
    pub(super) fn read(paths: &[PathBuf]) -> Result<Self, CliError> {
        let mut contents = BundleContents::default();
        for file in files(paths)? {
            let from = File::open(&file).map_err(|source| cannot_read(&file, source))?;
            contents.add(BufReader::new(from)).map_err(|error| refused(&file, &error))?;
        }
        Ok(Self { contents })
    }

    /// Adds a component, for executions whose bundle was made without it.
    pub(super) fn supply(&mut self, component: &[u8]) {
        self.contents.supply(component.to_vec());
    }

    /// The execution to replay: the named one, or the only one that the bundle was made for.
    ///
    /// # Errors
    /// It is not in the bundle with its journal; or none is named and there are several.
    pub(super) fn subject(&self, id: Option<&str>) -> Result<String, CliError> {
        let Some(id) = id else { return self.only() };
        match self.contents.is_whole(&PromiseId::from(id)) {
            Some(true) => Ok(id.to_owned()),
            Some(false) => Err(CliError::Other {
                code: "value-only",
                message: format!(
                    "the bundle has only the value of `{}`, to which another journal refers: make one with --tree, or of \
                     `{}` itself",
                    plain(id),
                    plain(id)
                ),
            }),
            None => Err(CliError::Other {
                code: "not-in-bundle",
                message: format!("`{}` is not in the bundle; it has {}", plain(id), self.ids()),
            }),
        }
    }

    fn only(&self) -> Result<String, CliError> {
        let mut asked = self.contents.asked();
        match (asked.next(), asked.next()) {
            (Some(only), None) => Ok(only.to_string()),
            (None, _) => Err(CliError::Other {
                code: "not-in-bundle",
                message: "the bundle has no execution".to_owned(),
            }),
            (Some(_), Some(_)) => Err(CliError::Usage(format!(
                "the bundle has several executions: name one after the file; it has {}",
                self.ids()
            ))),
        }
    }

    fn ids(&self) -> String {
        named_in_words(self.contents.asked())
    }

    /// Prepares the replay of an execution, on a component file if `module` names one.
    ///
    /// # Errors
    /// The component of the execution is missing.
    pub(super) fn prepare_replay(
        &mut self,
        id: &str,
        module: Option<&str>,
    ) -> Result<(), CliError> {
        match module {
            None => self.check_component(id),
            Some(path) if path.ends_with(".wasm") => {
                self.supply(&read_component(Path::new(path))?);
                Ok(())
            }
            Some(_) => Ok(()),
        }
    }

    /// Checks that the execution is a workflow with a journal.
    ///
    /// # Errors
    /// Lists the executions that have a journal.
    pub(super) fn check_journal(&self, id: &str) -> Result<(), CliError> {
        let journals = || {
            let all = self.contents.executions();
            all.filter(|(_, records)| !records.is_empty()).map(|(promise, _)| promise.id())
        };
        if journals().any(|journal| journal.as_str() == id) {
            return Ok(());
        }
        let has = match journals().next() {
            None => "no journal at all".to_owned(),
            Some(_) => format!("those of {}: name one after the file", named_in_words(journals())),
        };
        Err(CliError::Other {
            code: "no-journal",
            message: format!(
                "`{}` has no journal to replay: workflows have one, once they have begun; the bundle has {has}",
                plain(id)
            ),
        })
    }

    /// Checks that the component for a replay is present.
    ///
    /// # Errors
    /// Names the missing component and the remedy.
    pub(super) fn check_component(&self, id: &str) -> Result<(), CliError> {
        let Some(module) = self.contents.module_of(&PromiseId::from(id)) else { return Ok(()) };
        if self.contents.has_component(module) {
            return Ok(());
        }
        Err(CliError::Other {
            code: "no-component",
            message: format!(
                "the bundle does not hold the code of `{}`, module {module}: give the component with --module FILE.wasm, \
                 or make the bundle with it",
                plain(id)
            ),
        })
    }

    /// The combined contents of the bundles.
    pub(super) fn contents(&self) -> &BundleContents {
        &self.contents
    }

    /// Checks that values are not hidden, for commands that need them.
    ///
    /// # Errors
    /// The bundle is redacted.
    pub(super) fn with_values(&self) -> Result<(), CliError> {
        match self.is_redacted() {
            false => Ok(()),
            true => Err(CliError::Other {
                code: "redacted",
                message: "the values in the bundle are hidden: make it without --redact".to_owned(),
            }),
        }
    }

    /// Returns true if values are hidden.
    pub(super) fn is_redacted(&self) -> bool {
        self.contents.heads().iter().any(|head| head.redacted.is_some())
    }

    /// Prints the remarks that apply to every result, such as hidden values.
    pub(super) fn remarks(&self, console: &mut Console) {
        let redacted = self.contents.heads().iter().find_map(|head| head.redacted.as_ref());
        if let Some(redaction) = redacted {
            console.warn(&format!("the bundle is redacted: {}", plain(&redaction.note)));
        }
    }

    /// A client of an in-process host over the bundles.
    ///
    /// # Errors
    /// The engine cannot be set up on this machine.
    pub(super) async fn client(&self) -> Result<Client, CliError> {
        let opened =
            bundles::open(&self.contents, compile::compiler(), compile::kept(), Env::system())
                .await;
        let (host, wasm) = opened.map_err(|error| other("not-opened", &error))?;
        let address = ([127, 0, 0, 1], 0).into();
        let access = AccessControl::new(address, None, false, Vec::new())
            .map_err(|error| other("not-opened", &error))?;
        let limit = wasm.limits().component_bytes.max(Limits::default().component_bytes);
        let api = LocalApi::new(Api::new(host, wasm, access, limit));
        Ok(Client::local(Arc::new(InProcessHost(api)))?)
    }
}

/// Formats some ids for an error.
fn named_in_words<'a>(ids: impl Iterator<Item = &'a PromiseId>) -> String {
    let mut words: Vec<String> =
        ids.take(NAMED + 1).map(|id| format!("`{}`", plain(id.as_str()))).collect();
    if words.len() > NAMED {
        words[NAMED] = "others".to_owned();
    }
    words.join(", ")
}

/// The in-process host, behind the client's transport.
struct InProcessHost(LocalApi);

#[async_trait]
impl LocalHost for InProcessHost {
    async fn answer(
        &self,
        request: http::Request<Vec<u8>>,
    ) -> Result<http::Response<Vec<u8>>, String> {
        self.0.answer(request).await.map_err(|error| error.to_string())
    }
}

/// The given files, and the files in the given folders, by name.
fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, CliError> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let failed = |source| cannot_read(path, source);
        let mut inside = Vec::new();
        for entry in fs::read_dir(path).map_err(failed)? {
            let file = entry.map_err(failed)?.path();
            if file.extension().is_some_and(|extension| extension == EXTENSION) {
                inside.push(file);
            }
        }
        if inside.is_empty() {
            let path = path.display();
            return Err(CliError::Usage(format!("the folder `{path}` has no file *.{EXTENSION}")));
        }
        inside.sort();
        files.extend(inside);
    }
    Ok(files)
}

fn cannot_read(path: &Path, source: std::io::Error) -> CliError {
    CliError::File { what: "read", path: path.display().to_string(), source }
}

fn refused(path: &Path, error: &ContentsError) -> CliError {
    CliError::BadBundle { path: path.display().to_string(), reason: error.to_string() }
}
