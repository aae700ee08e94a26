//! The promises of an object.

use std::{marker::PhantomData, sync::Arc};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::StateField;
use crate::{
    bindings::segno::workflow::types as wit,
    context::Context,
    error::{Error, Result},
    handle::Step,
    invocation::CurrentInvocation,
    journal::WorkflowCommand,
    payload::{self, Payload},
};

/// A promise of an object, named by its field: settled once, by any function of the object or from
/// outside; any function can wait for it.
///
/// It belongs to the object, not to an execution: it may be settled before any function waits for
/// it, and it outlives the executions that waited. It has no deadline; combine
/// [`select`](crate::select()) with [`sleep`](Context::sleep) to limit the wait.
///
/// ```
/// # extern crate segno_sdk as segno;
/// # use segno::{Context, ObjectPromise, Result, State};
/// #[segno::object]
/// struct Signup {
///     mail: State<String>,
///     confirmed: ObjectPromise<bool>,
/// }
///
/// #[segno::object]
/// impl Signup {
///     #[run]
///     async fn run(&mut self, _ctx: Context, mail: String) -> Result<bool> {
///         self.mail.set(&mail)?;
///         self.confirmed.wait().await
///     }
///
///     #[shared]
///     async fn confirm(&self, _ctx: Context) -> Result<()> {
///         self.confirmed.resolve(&true).await
///     }
///
///     #[shared]
///     async fn is_confirmed(&self, _ctx: Context) -> Result<bool> {
///         Ok(self.confirmed.peek().await?.unwrap_or_default())
///     }
/// }
///
/// # #[cfg(any())]
/// segno::module!(Signup);
/// # let mut test = segno::testing::Test::new();
/// # test.run_object::<_, ()>(Signup, "ada", "confirm", &()).unwrap();
/// # assert!(test.run_object::<_, bool>(Signup, "ada", "run", "ada@example.org").unwrap());
/// # assert!(test.run_object::<_, bool>(Signup, "ada", "is_confirmed", &()).unwrap());
/// ```
pub struct ObjectPromise<T> {
    invocation: Arc<CurrentInvocation>,
    name: String,
    of: PhantomData<fn() -> T>,
}

/// The status of a promise, in the host's encoding.
#[derive(Deserialize)]
enum EncodedPromise<T> {
    #[serde(rename = "resolved")]
    Resolved(T),
    #[serde(rename = "resolved_base64")]
    ResolvedBytes(String),
    #[serde(rename = "rejected")]
    Rejected { code: u32, message: String, details: Option<serde_json::Value> },
}

impl<T: 'static> StateField for ObjectPromise<T> {
    fn of(context: &Context, name: &str) -> Self {
        Self { invocation: context.invocation().clone(), name: name.to_owned(), of: PhantomData }
    }
}

impl<T: Serialize + DeserializeOwned> ObjectPromise<T> {
    /// Waits until the promise is settled and returns its value.
    ///
    /// # Errors
    /// The error with which the promise was rejected. Code 400 if its value is not a `T`.
    pub fn wait(&self) -> Step<T> {
        let decode = |payload: Payload| payload::decode("the value of a promise", &payload);
        Step::new(
            &self.invocation,
            Ok(WorkflowCommand::WaitObjectPromise { name: self.name.clone() }),
            decode,
        )
    }

    /// The value, if the promise is settled now. `None` if it is pending.
    ///
    /// # Errors
    /// The error with which the promise was rejected. Code 400 if its value is not a `T`.
    pub fn peek(&self) -> Step<Option<T>> {
        Step::new(
            &self.invocation,
            Ok(WorkflowCommand::PeekObjectPromise { name: self.name.clone() }),
            standing,
        )
    }

    /// Resolves the promise with this value.
    ///
    /// # Errors
    /// Code 409 if the promise was already settled, 422 if the value cannot be written as JSON.
    pub fn resolve(&self, value: &T) -> Step<()> {
        let value = payload::encode(&format!("the value of the promise `{}`", self.name), value);
        self.settle(value.map(wit::Outcome::Success))
    }

    /// Rejects the promise: its awaiters fail with this error.
    ///
    /// # Errors
    /// Code 409 if the promise was already settled.
    pub fn reject(&self, error: Error) -> Step<()> {
        self.settle(Ok(wit::Outcome::Failure(error.into_failure())))
    }

    fn settle(&self, outcome: Result<wit::Outcome>) -> Step<()> {
        let name = self.name.clone();
        let request = outcome.map(|outcome| WorkflowCommand::SettleObjectPromise { name, outcome });
        Step::new(&self.invocation, request, |_| Ok(()))
    }
}

fn standing<T: DeserializeOwned>(payload: Payload) -> Result<Option<T>> {
    let what = "the value of a promise";
    Ok(match payload::decode::<Option<EncodedPromise<T>>>(what, &payload)? {
        None => None,
        Some(EncodedPromise::Resolved(value)) => Some(value),
        Some(EncodedPromise::ResolvedBytes(text)) => {
            let bytes = BASE64_STANDARD.decode(text)?;
            Some(payload::decode(what, &Payload::Bytes(bytes))?)
        }
        Some(EncodedPromise::Rejected { code, message, details }) => {
            let error = Error::with_code(code, message);
            return Err(match details {
                Some(details) => error.with_details(&details),
                None => error,
            });
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: DeserializeOwned>(json: &str) -> Result<Option<T>> {
        standing(Payload::Json(json.to_owned()))
    }

    #[test]
    fn what_nobody_settled_is_told_from_what_was_resolved_with_nothing() {
        assert_eq!(read::<Option<u32>>("null").expect("it is read"), None);
        assert_eq!(read::<Option<u32>>(r#"{"resolved":null}"#).expect("it is read"), Some(None));
        assert_eq!(read::<()>(r#"{"resolved":null}"#).expect("it is read"), Some(()));
        // A value in bytes that contain JSON text.
        assert_eq!(read::<u32>(r#"{"resolved_base64":"Nw=="}"#).expect("it is read"), Some(7));
        let rejected = r#"{"rejected":{"code":422,"message":"no","details":[1]}}"#;
        let error = read::<u32>(rejected).expect_err("it was rejected");
        assert_eq!((error.code(), error.message(), error.details()), (422, "no", Some(vec![1])));
        let error = read::<u32>(r#"{"resolved":"x"}"#).expect_err("it is no number");
        assert_eq!(error.code(), 400, "{error}");
    }
}
