//! The execution that a command is about: on a host, or in a bundle.

use clap::Args;
use segno_client::{Client, ClientError};

use super::{
    CliError, Console,
    bundled::{self, LoadedBundles},
    show::plain,
};

/// The id of an execution, or a bundle that contains it.
#[derive(Debug, Args)]
pub(super) struct SubjectArgs {
    /// Id of the invocation, or a bundle that has it
    #[arg(value_name = "ID|FILE.segno-bundle")]
    id: String,
    /// In a bundle: the id of the execution (default: the one that the bundle was made for)
    #[arg(value_name = "ID")]
    of: Option<String>,
}

/// An execution, with a client for it.
pub(super) struct SubjectExecution {
    /// A client of the host, or of an in-process host over the bundle.
    pub client: Client,
    /// The execution.
    pub id: String,
    /// The bundle, if one is named.
    pub bundled: Option<LoadedBundles>,
}

impl SubjectArgs {
    /// Opens a client of the host, or of an in-process host over the named bundle.
    ///
    /// # Errors
    /// The bundle is damaged, or does not contain the execution.
    pub(super) async fn open(
        self,
        host: impl FnOnce() -> Result<Client, ClientError>,
        console: &mut Console,
    ) -> Result<SubjectExecution, CliError> {
        self.open_with(host, |_, _| Ok(()), console).await
    }

    /// Like [`open`](Self::open); `prepare` is called with a bundle and the id of the execution
    /// first.
    ///
    /// # Errors
    /// Also the errors of `prepare`.
    pub(super) async fn open_with(
        self,
        host: impl FnOnce() -> Result<Client, ClientError>,
        prepare: impl FnOnce(&mut LoadedBundles, &str) -> Result<(), CliError>,
        console: &mut Console,
    ) -> Result<SubjectExecution, CliError> {
        let Some(file) = bundled::named(&self.id) else {
            if self.of.is_some() {
                let message =
                    format!("`{}` is no bundle: only of one, an id is named", plain(&self.id));
                return Err(CliError::Usage(message));
            }
            return Ok(SubjectExecution { client: host()?, id: self.id, bundled: None });
        };
        let mut bundled = LoadedBundles::read(&[file])?;
        let id = bundled.subject(self.of.as_deref())?;
        prepare(&mut bundled, &id)?;
        bundled.remarks(console);
        Ok(SubjectExecution { client: bundled.client().await?, id, bundled: Some(bundled) })
    }

    /// Returns true if an execution of a bundle is named.
    pub(super) fn names_one(&self) -> bool {
        self.of.is_some()
    }

    /// Returns true if a bundle is named.
    pub(super) fn is_bundle(&self) -> bool {
        bundled::named(&self.id).is_some()
    }
}
