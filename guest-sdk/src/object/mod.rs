//! Objects: identified by a kind and a key. Each has state with one writer at a time.

mod access;
mod promise;
mod state;

use std::sync::Arc;

use serde::{Serialize, de::DeserializeOwned};

pub(crate) use self::state::names;
pub use self::{
    access::ObjectAccess,
    promise::ObjectPromise,
    state::{State, StateField, StateMap},
};
use crate::{
    call::{Call, no_options},
    context::Context,
    function::{Entry, Function, announce, decode_result},
    handle::Step,
    invocation::CurrentInvocation,
    journal::WorkflowCommand,
    payload,
};

/// A kind of object, implemented by `#[segno::object]` on an `impl` block.
pub trait Object: ObjectFields {
    /// The name of the kind, as in calls.
    const NAME: &'static str;

    /// The type of the client that calls its functions.
    type Client;

    #[doc(hidden)]
    fn client(object: ObjectRef) -> Self::Client;
}

/// The state of a kind of object as fields, implemented by `#[segno::object]` on a struct.
pub trait ObjectFields: Sized + 'static {
    #[doc(hidden)]
    fn of(context: &Context) -> Self;
}

/// A reference to one object, for calls.
#[derive(Clone)]
pub struct ObjectRef {
    invocation: Arc<CurrentInvocation>,
    /// `OBJECT@KEY`, or `wasm://MODULE/OBJECT@KEY`.
    path: String,
}

impl ObjectRef {
    pub(crate) fn new<O: Object>(
        invocation: &Arc<CurrentInvocation>,
        module: Option<&str>,
        key: &str,
    ) -> Self {
        let object = O::NAME;
        let path = match module {
            Some(module) => format!("wasm://{module}/{object}@{key}"),
            None => format!("{object}@{key}"),
        };
        Self { invocation: invocation.clone(), path }
    }

    /// Calls a function of the object.
    #[doc(hidden)]
    pub fn call<F: Function>(&self, input: &F::Input) -> Call<F::Output>
    where
        F::Input: Serialize,
        F::Output: DeserializeOwned,
    {
        announce(&*self.invocation.journal, Entry::of::<F>);
        let (_, method) = F::NAME.split_once('/').unwrap_or(("", F::NAME));
        let function = format!("{}/{method}", self.path);
        let request = payload::encode(&format!("the input of `{function}`"), input);
        let request = request.map(|input| WorkflowCommand::Call {
            function,
            input,
            options: no_options(),
            step: None,
        });
        Call(Step::new(&self.invocation, request, decode_result))
    }
}

/// The functions of a kind of object, for [`module!`](crate::module!).
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct ObjectEntries(pub fn() -> Vec<Entry>);
