//! State access of a handler. Reads are answered locally if the answer is known.

use bytes::Bytes;

use super::{attempt::DeploymentAttempt, difference::is_state_read, error::AttemptError};
use crate::{
    immutable::{
        ClearAllState, ClearState, Command, EagerState, GetEagerState, GetEagerStateKeys,
        GetLazyState, GetLazyStateKeys, SetState,
    },
    wire::{StateKeys, ValueMessage, Void},
};

/// Result of reading a state key, or the keys of the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateRead<T = Option<Bytes>> {
    /// The answer, known locally or from the journal. For a key, `None` if it has no value.
    Known(T),
    /// The completion id under which the answer arrives.
    Asked(u32),
}

impl DeploymentAttempt {
    /// Reads a state key.
    ///
    /// # Errors
    /// [`AttemptError`]: as for every command.
    pub fn state(
        &mut self,
        key: impl Into<Bytes>,
        name: impl Into<String>,
    ) -> Result<StateRead, AttemptError> {
        let (key, name) = (key.into(), name.into());
        // The answer of a recorded read is used as recorded: the local state may have changed
        // since.
        let known = match self.recorded.front() {
            Some(Command::GetEagerState(recorded)) => Some(recorded.result.clone()),
            Some(recorded) if is_state_read(recorded) => None,
            _ => self.state.get(&key).map(|value| {
                Some(match value {
                    Some(content) => EagerState::Value(ValueMessage { content }),
                    None => EagerState::Void(Void {}),
                })
            }),
        };
        let Some(result) = known else {
            let result_completion_id = self.next_completion_id;
            let asked = GetLazyState { key, result_completion_id, name };
            return self.id(asked.into()).map(StateRead::Asked);
        };
        self.issue(GetEagerState { key, result: result.clone(), name }.into())?;
        Ok(StateRead::Known(match result {
            Some(EagerState::Value(value)) => Some(value.content),
            Some(EagerState::Void(_)) | None => None,
        }))
    }

    /// Reads the keys of the state.
    ///
    /// # Errors
    /// [`AttemptError`]: as of every command.
    pub fn state_keys(
        &mut self,
        name: impl Into<String>,
    ) -> Result<StateRead<Vec<Bytes>>, AttemptError> {
        let name = name.into();
        let known = match self.recorded.front() {
            Some(Command::GetEagerStateKeys(recorded)) => {
                Some(recorded.value.clone().unwrap_or_default().keys)
            }
            Some(Command::GetLazyStateKeys(_)) => None,
            _ => self.state.keys(),
        };
        let Some(keys) = known else {
            let result_completion_id = self.next_completion_id;
            let asked = GetLazyStateKeys { result_completion_id, name };
            return self.id(asked.into()).map(StateRead::Asked);
        };
        let value = Some(StateKeys { keys: keys.clone() });
        self.issue(GetEagerStateKeys { value, name }.into())?;
        Ok(StateRead::Known(keys))
    }

    /// Writes a state key.
    ///
    /// # Errors
    /// [`AttemptError`]: as of every command.
    pub fn set_state(
        &mut self,
        key: impl Into<Bytes>,
        content: impl Into<Bytes>,
        name: impl Into<String>,
    ) -> Result<(), AttemptError> {
        let (key, content) = (key.into(), content.into());
        let value = Some(ValueMessage { content: content.clone() });
        self.issue(SetState { key: key.clone(), value, name: name.into() }.into())?;
        self.state.set(key, content);
        Ok(())
    }

    /// Removes a state key.
    ///
    /// # Errors
    /// [`AttemptError`]: as of every command.
    pub fn clear_state(
        &mut self,
        key: impl Into<Bytes>,
        name: impl Into<String>,
    ) -> Result<(), AttemptError> {
        let key = key.into();
        self.issue(ClearState { key: key.clone(), name: name.into() }.into())?;
        self.state.clear(key);
        Ok(())
    }

    /// Removes all state.
    ///
    /// # Errors
    /// [`AttemptError`]: as of every command.
    pub fn clear_all_state(&mut self, name: impl Into<String>) -> Result<(), AttemptError> {
        self.issue(ClearAllState { name: name.into() }.into())?;
        self.state.clear_all();
        Ok(())
    }
}
