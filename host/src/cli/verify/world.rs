//! The outside world of a recorded execution, for other runs of it.

use std::{collections::BTreeSet, path::Path};

use segno_core::id::{Digest, PromiseId};
use segno_verify::{RecordedExecution, recorded};

use super::super::{CliError, bundled::LoadedBundles, show::plain};

/// A bundle, and the recorded inputs of its execution.
pub(super) struct BundledWorld {
    bundle: LoadedBundles,
    id: String,
    /// The recorded call and external events.
    pub recorded: RecordedExecution,
}

impl BundledWorld {
    /// Reads the execution `of` in a bundle, or the one that the bundle was made for.
    ///
    /// # Errors
    /// The bundle is damaged or hides values, or does not contain the execution.
    pub(super) fn read(file: &Path, of: Option<&str>) -> Result<Self, CliError> {
        let bundle = LoadedBundles::read(&[file.to_owned()])?;
        bundle.with_values()?;
        let id = bundle.subject(of)?;
        match recorded(bundle.contents(), &PromiseId::from(id.as_str())) {
            Some(recorded) => Ok(Self { bundle, id, recorded }),
            None => Err(CliError::Other {
                code: "no-journal",
                message: format!(
                    "the bundle has no journal of a workflow `{}`: it had not begun, or is something else",
                    plain(&id)
                ),
            }),
        }
    }

    /// Adds the missing modules of the bundle by their names, the execution's own first.
    ///
    /// # Errors
    /// No component is given, and the bundle lacks the execution's.
    pub(super) fn components(
        &self,
        components: &mut Vec<(String, Vec<u8>)>,
    ) -> Result<(), CliError> {
        let contents = self.bundle.contents();
        let id = PromiseId::from(self.id.as_str());
        let own = contents.module_of(&id);
        if components.is_empty() {
            self.bundle.check_component(&self.id)?;
        }
        let called = contents.execution(&id).map(|(promise, _)| promise.module_name());
        let called = called.filter(|name| !name.is_empty());
        let first = called.zip(own).map(|(name, module)| (name.to_owned(), module));
        let mut names: BTreeSet<String> = components.iter().map(|(name, _)| name.clone()).collect();
        let known: Vec<(String, Digest)> = first.into_iter().chain(contents.aliases()).collect();
        for (name, module) in known {
            let Some(component) = contents.component(module) else { continue };
            if names.insert(name.clone()) {
                components.push((name, component.to_vec()));
            }
        }
        Ok(())
    }
}
