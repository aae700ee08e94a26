//! The fields of an object.

use std::{marker::PhantomData, sync::Arc};

use serde::{Serialize, de::DeserializeOwned};

use crate::{
    context::Context,
    error::Result,
    handle::Step,
    invocation::CurrentInvocation,
    journal::WorkflowCommand,
    payload::{self, Payload},
};

/// A type that can be a field of an object.
pub trait StateField: 'static {
    #[doc(hidden)]
    fn of(context: &Context, name: &str) -> Self;
}

/// One value of an object's state, named by its field.
///
/// It is read on demand, and a write is stored with the command that writes it: after a failure, the
/// value is present if the later effects of this execution are.
///
/// ```
/// # extern crate segno_sdk as segno;
/// # use segno::{Context, Result, State};
/// #[segno::object]
/// struct Counter {
///     count: State<u64>,
/// }
///
/// #[segno::object]
/// impl Counter {
///     async fn add(&mut self, _ctx: Context, number: u64) -> Result<u64> {
///         let count = self.count.get().await?.unwrap_or_default() + number;
///         self.count.set(&count)?;
///         Ok(count)
///     }
///
///     #[shared]
///     async fn count(&self, _ctx: Context) -> Result<u64> {
///         Ok(self.count.get().await?.unwrap_or_default())
///     }
/// }
///
/// #[segno::workflow]
/// async fn twice(ctx: Context) -> Result<u64> {
///     let counter = ctx.object::<Counter>("ada");
///     counter.add(&1).await?;
///     counter.add(&2).await?;
///     counter.count().await
/// }
///
/// # #[cfg(any())]
/// segno::module!(twice, Counter);
/// # assert_eq!(segno::testing::Test::new().run(twice, &()).unwrap(), 3);
/// ```
///
/// A function that only reads cannot write:
///
/// ```compile_fail,E0596
/// # extern crate segno_sdk as segno;
/// # use segno::{Context, Result, State};
/// # #[segno::object]
/// # struct Counter {
/// #     count: State<u64>,
/// # }
/// #[segno::object]
/// impl Counter {
///     #[shared]
///     async fn reset(&self, _ctx: Context) -> Result<()> {
///         self.count.clear();
///         Ok(())
///     }
/// }
/// ```
pub struct State<T> {
    invocation: Arc<CurrentInvocation>,
    name: String,
    of: PhantomData<fn() -> T>,
}

/// Values of an object's state by key, each stored separately: under the name of the field, `/`,
/// and the key. Only requested values are read.
pub struct StateMap<T> {
    invocation: Arc<CurrentInvocation>,
    name: String,
    of: PhantomData<fn() -> T>,
}

impl<T: 'static> StateField for State<T> {
    fn of(context: &Context, name: &str) -> Self {
        Self { invocation: context.invocation().clone(), name: name.to_owned(), of: PhantomData }
    }
}

impl<T: 'static> StateField for StateMap<T> {
    fn of(context: &Context, name: &str) -> Self {
        Self { invocation: context.invocation().clone(), name: name.to_owned(), of: PhantomData }
    }
}

impl<T: Serialize + DeserializeOwned> State<T> {
    /// Reads the value. `None` if it was never set, or was cleared.
    ///
    /// # Errors
    /// Code 400 if the stored value is not a `T`.
    pub fn get(&self) -> Step<Option<T>> {
        read(&self.invocation, self.name.clone())
    }

    /// Sets the value.
    ///
    /// # Errors
    /// Code 422 if the value cannot be written as JSON.
    pub fn set(&mut self, value: &T) -> Result<()> {
        write(&self.invocation, self.name.clone(), value)
    }

    /// Removes the value.
    pub fn clear(&mut self) {
        self.invocation.write(WorkflowCommand::ClearState { name: self.name.clone() });
    }
}

impl<T: Serialize + DeserializeOwned> StateMap<T> {
    /// Reads the value of a key. `None` if it was never set, or was removed.
    ///
    /// # Errors
    /// Code 400 if the stored value is not a `T`.
    pub fn get(&self, key: &str) -> Step<Option<T>> {
        read(&self.invocation, self.at(key))
    }

    /// Sets the value of a key.
    ///
    /// # Errors
    /// Code 422 if the value cannot be written as JSON.
    pub fn set(&mut self, key: &str, value: &T) -> Result<()> {
        write(&self.invocation, self.at(key), value)
    }

    /// Removes a key and its value.
    pub fn remove(&mut self, key: &str) {
        self.invocation.write(WorkflowCommand::ClearState { name: self.at(key) });
    }

    /// Lists the keys that have a value, ascending.
    ///
    /// # Errors
    /// As for any step: code 499 if the execution is cancelled meanwhile.
    pub async fn keys(&self) -> Result<Vec<String>> {
        let names = names(&self.invocation).await?;
        let begin = self.at("");
        Ok(names.iter().filter_map(|name| name.strip_prefix(&begin)).map(str::to_owned).collect())
    }

    fn at(&self, key: &str) -> String {
        format!("{}/{key}", self.name)
    }
}

/// The names in the state of the object.
pub(crate) fn names(invocation: &Arc<CurrentInvocation>) -> Step<Vec<String>> {
    let decode = |payload: Payload| payload::decode("the names in the state", &payload);
    Step::new(invocation, Ok(WorkflowCommand::StateNames), decode)
}

fn read<T: DeserializeOwned>(invocation: &Arc<CurrentInvocation>, name: String) -> Step<Option<T>> {
    let decode = |payload: Payload| payload::decode("a value of the state", &payload);
    Step::new(invocation, Ok(WorkflowCommand::GetState { name }), decode)
}

fn write<T: Serialize>(invocation: &Arc<CurrentInvocation>, name: String, value: &T) -> Result<()> {
    let value = payload::encode(&format!("the value of `{name}` in the state"), value)?;
    invocation.write(WorkflowCommand::SetState { name, value });
    Ok(())
}
