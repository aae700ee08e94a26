//! The imports of functions of objects: the key, and commands on the state. Activities and
//! functions outside an object are refused.

use super::{
    ObjectAccess, Payload,
    activity::{ActivityState, for_workflows},
    bindings::segno::workflow::state,
    commands::{
        ClearAllStateCommand, ClearStateCommand, GetStateCommand, SetStateCommand,
        StateNamesCommand,
    },
    contract::size,
    trap::TrapCause,
    workflow::WorkflowState,
};

/// Maximum length of the name of a state entry or promise of an object, in bytes.
const LONGEST_NAME: usize = segno_core::object::LONGEST_NAME;
/// The subject in error messages about names.
const WHAT: &str = "in the state of an object";

impl state::Host for WorkflowState {
    fn key(&mut self) -> wasmtime::Result<String> {
        self.object("state.key").map(|object| object.key.clone())
    }

    fn get(&mut self, name: String) -> wasmtime::Result<u32> {
        self.object("state.get")?;
        check_name(WHAT, &name)?;
        self.command(GetStateCommand { name })
    }

    fn names(&mut self) -> wasmtime::Result<u32> {
        self.object("state.names")?;
        self.command(StateNamesCommand)
    }

    fn set(&mut self, name: String, value: Payload) -> wasmtime::Result<u32> {
        self.writes("state.set")?;
        check_name(WHAT, &name)?;
        self.check(size(&value), || format!("value of `{name}` in the state"))?;
        self.command(SetStateCommand { name, value })
    }

    fn clear(&mut self, name: String) -> wasmtime::Result<u32> {
        self.writes("state.clear")?;
        check_name(WHAT, &name)?;
        self.command(ClearStateCommand { name })
    }

    fn clear_all(&mut self) -> wasmtime::Result<u32> {
        self.writes("state.clear-all")?;
        self.command(ClearAllStateCommand)
    }
}

impl state::Host for ActivityState {
    fn key(&mut self) -> wasmtime::Result<String> {
        Err(for_workflows("state.key"))
    }

    fn get(&mut self, _: String) -> wasmtime::Result<u32> {
        Err(for_workflows("state.get"))
    }

    fn names(&mut self) -> wasmtime::Result<u32> {
        Err(for_workflows("state.names"))
    }

    fn set(&mut self, _: String, _: Payload) -> wasmtime::Result<u32> {
        Err(for_workflows("state.set"))
    }

    fn clear(&mut self, _: String) -> wasmtime::Result<u32> {
        Err(for_workflows("state.clear"))
    }

    fn clear_all(&mut self) -> wasmtime::Result<u32> {
        Err(for_workflows("state.clear-all"))
    }
}

/// The object of an execution.
pub(super) struct OwnObject {
    /// The key of the object.
    pub(super) key: String,
    /// True if the function may write the object's state.
    pub(super) writes: bool,
}

impl From<(String, ObjectAccess)> for OwnObject {
    fn from((key, access): (String, ObjectAccess)) -> Self {
        Self { key, writes: access == ObjectAccess::Exclusive }
    }
}

impl WorkflowState {
    pub(super) fn object(&self, import: &str) -> wasmtime::Result<&OwnObject> {
        self.object.as_ref().ok_or_else(|| {
            let message = format!(
                "`{import}` is for functions of objects: describe this one in `objects`, and call it as `OBJECT@KEY/FUNCTION`"
            );
            TrapCause::Refused(message).into()
        })
    }

    pub(super) fn writes(&self, import: &str) -> wasmtime::Result<()> {
        if self.object(import)?.writes {
            return Ok(());
        }
        let message = format!(
            "`{import}` is refused in a function whose access is `shared`: it only reads; describe it as `exclusive` to write"
        );
        Err(TrapCause::Refused(message).into())
    }
}

/// Checks the length of a name within an object. The engine checks its characters.
pub(super) fn check_name(what: &str, name: &str) -> wasmtime::Result<()> {
    if name.len() > LONGEST_NAME {
        let message =
            format!("a name {what} has 1 to {LONGEST_NAME} bytes, and this one has {}", name.len());
        return Err(TrapCause::Refused(message).into());
    }
    Ok(())
}
