//! Reads of the state of the execution's object.

use std::collections::BTreeMap;

use segno_guest::{Completion, Event};

use super::LiveExecution;
use crate::{claim::ExecutionError, worker::recording::LookupResult};

impl LiveExecution {
    /// Reads the state that the guest requested in its last poll. The answers are delivered before
    /// all other events.
    pub(super) async fn read_state(&mut self) -> Result<(), ExecutionError> {
        let lookup = self.recorder().state_lookup();
        let Some(lookup) = lookup else { return Ok(()) };
        let read = self.worker.host.store.read();
        let values = match lookup.values.is_empty() {
            true => BTreeMap::new(),
            false => read.object_state(&lookup.object, &lookup.values).await?,
        };
        let names = match lookup.names {
            true => read.object_names(&lookup.object).await?,
            false => Vec::new(),
        };
        let names = names.into_iter().map(|size| size.name).collect();
        let rows = self.worker.promises(&lookup.promises).await?.into_iter().flatten();
        let promises = rows.map(|row| (row.promise.id().clone(), row.promise)).collect();
        let answers = self.recorder().state_answers(&LookupResult { values, names, promises });
        let told = |(command, outcome)| Event::Completed(Completion { command, outcome });
        self.state_reads.extend(answers.into_iter().map(told));
        Ok(())
    }
}
