//! References to functions and messages with their types, as `segno types` writes them.
//!
//! A reference makes the documents of the API from values, and values from its answers; requests
//! are sent by [`Client`](super::Client) as all others.

use std::{borrow::Cow, marker::PhantomData};

use segno_model::{
    InvocationOutcome, InvocationState, SendQuery, SendSignal, SendUpdate, StartInvocation,
    UpdateAnswer, UpdateState,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// The types of a reference; no value of them is kept.
type Types<T> = PhantomData<fn(T) -> T>;

/// A function of a module, with the types of its input and its output.
///
/// ```
/// # use segno_client::FunctionReference;
/// const ORDER: FunctionReference<Vec<String>, u64> = FunctionReference::new("wasm://shop/order");
///
/// let start = ORDER.start(&vec!["tea".to_owned()])?;
/// assert_eq!(start.target, "wasm://shop/order");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug)]
pub struct FunctionReference<Input, Output> {
    address: Cow<'static, str>,
    types: Types<(Input, Output)>,
}

impl<Input, Output> FunctionReference<Input, Output> {
    /// The function with this address.
    pub const fn new(address: &'static str) -> Self {
        Self { address: Cow::Borrowed(address), types: PhantomData }
    }

    /// A function of the object with this key: the address begins with the kind of object and ends
    /// with the function.
    pub fn keyed(kind: &str, key: &str, function: &str) -> Self {
        Self { address: Cow::Owned(format!("{kind}{key}{function}")), types: PhantomData }
    }

    /// The address of the function: `wasm://MODULE/FUNCTION`.
    pub fn address(&self) -> &str {
        &self.address
    }
}

impl<Input: Serialize, Output> FunctionReference<Input, Output> {
    /// A start of the function with this input; further options are fields of the result.
    ///
    /// # Errors
    /// The input is no JSON.
    pub fn start(&self, input: &Input) -> Result<StartInvocation, serde_json::Error> {
        Ok(StartInvocation {
            target: self.address.to_string(),
            input: serde_json::to_value(input)?,
            ..Default::default()
        })
    }
}

impl<Input, Output: DeserializeOwned> FunctionReference<Input, Output> {
    /// The output of an execution that is resolved; `None` if it has another state.
    ///
    /// # Errors
    /// The output does not have the type: the module is another one than the reference is of.
    pub fn output(&self, of: &InvocationOutcome) -> Result<Option<Output>, serde_json::Error> {
        if of.state != InvocationState::Resolved {
            return Ok(None);
        }
        read(of.output.as_ref()).map(Some)
    }
}

/// A signal, with the type of its payload.
#[derive(Debug)]
pub struct SignalReference<Payload> {
    name: &'static str,
    types: Types<Payload>,
}

impl<Payload: Serialize> SignalReference<Payload> {
    /// The signal with this name.
    pub const fn new(name: &'static str) -> Self {
        Self { name, types: PhantomData }
    }

    /// The signal with this payload; further options are fields of the result.
    ///
    /// # Errors
    /// The payload is no JSON.
    pub fn send(&self, payload: &Payload) -> Result<SendSignal, serde_json::Error> {
        let payload = serde_json::to_value(payload)?;
        Ok(SendSignal { name: self.name.to_owned(), payload, ..Default::default() })
    }
}

/// A promise that a workflow awaits by name, with the type of its value.
#[derive(Debug)]
pub struct PromiseReference<Outcome> {
    name: &'static str,
    types: Types<Outcome>,
}

impl<Outcome: Serialize> PromiseReference<Outcome> {
    /// The promise with this name.
    pub const fn new(name: &'static str) -> Self {
        Self { name, types: PhantomData }
    }

    /// The id of the promise of this execution.
    pub fn of(&self, execution: &str) -> String {
        format!("{execution}/p/{}", self.name)
    }

    /// The value as the client sends it.
    ///
    /// # Errors
    /// The value is no JSON.
    pub fn value(&self, value: &Outcome) -> Result<Value, serde_json::Error> {
        serde_json::to_value(value)
    }
}

/// A query, with the types of its input and its answer.
#[derive(Debug)]
pub struct QueryReference<Input, Answer> {
    name: &'static str,
    types: Types<(Input, Answer)>,
}

impl<Input: Serialize, Answer: DeserializeOwned> QueryReference<Input, Answer> {
    /// The query with this name.
    pub const fn new(name: &'static str) -> Self {
        Self { name, types: PhantomData }
    }

    /// The name of the query.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The query with this input; further options are fields of the result.
    ///
    /// # Errors
    /// The input is no JSON.
    pub fn ask(&self, input: &Input) -> Result<SendQuery, serde_json::Error> {
        Ok(SendQuery { input: serde_json::to_value(input)?, ..Default::default() })
    }

    /// The answer.
    ///
    /// # Errors
    /// The answer does not have the type.
    pub fn answer(&self, value: Value) -> Result<Answer, serde_json::Error> {
        serde_json::from_value(value)
    }
}

/// An update, with the types of its input and its answer.
#[derive(Debug)]
pub struct UpdateReference<Input, Answer> {
    name: &'static str,
    types: Types<(Input, Answer)>,
}

impl<Input: Serialize, Answer: DeserializeOwned> UpdateReference<Input, Answer> {
    /// The update with this name.
    pub const fn new(name: &'static str) -> Self {
        Self { name, types: PhantomData }
    }

    /// The name of the update.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The update with this input; further options are fields of the result.
    ///
    /// # Errors
    /// The input is no JSON.
    pub fn send(&self, input: &Input) -> Result<SendUpdate, serde_json::Error> {
        Ok(SendUpdate { input: serde_json::to_value(input)?, ..Default::default() })
    }

    /// The answer; `None` if there is none yet, or if it is a failure.
    ///
    /// # Errors
    /// The answer does not have the type.
    pub fn answer(&self, of: &UpdateAnswer) -> Result<Option<Answer>, serde_json::Error> {
        if of.state != UpdateState::Completed {
            return Ok(None);
        }
        read(of.output.as_ref()).map(Some)
    }
}

/// An absent value is `null`.
fn read<T: DeserializeOwned>(value: Option<&Value>) -> Result<T, serde_json::Error> {
    T::deserialize(value.unwrap_or(&Value::Null))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ended(state: InvocationState, output: Option<Value>) -> InvocationOutcome {
        let state = serde_json::to_value(state).expect("JSON");
        let known = json!({
            "id": "o-1", "target": "wasm://shop/order", "state": state, "attempt": 0,
            "created_at_ms": 1, "output": output,
        });
        serde_json::from_value(known).expect("an outcome")
    }

    #[test]
    fn a_reference_makes_starts_and_reads_outputs() {
        let add = FunctionReference::<&str, Option<u32>>::keyed("wasm://shop/Cart@", "a/b", "/add");
        let start = add.start(&"tea").expect("JSON");
        assert_eq!(
            (start.target.as_str(), start.input),
            ("wasm://shop/Cart@a/b/add", json!("tea"))
        );
        let output = |state, output| add.output(&ended(state, output)).expect("the type");
        assert_eq!(output(InvocationState::Resolved, Some(json!(7))), Some(Some(7)));
        assert_eq!(output(InvocationState::Resolved, None), Some(None));
        assert_eq!(output(InvocationState::Rejected, Some(json!(7))), None);
        assert!(add.output(&ended(InvocationState::Resolved, Some(json!("7")))).is_err());
    }

    #[test]
    fn messages_have_their_names_and_types() {
        let approved = SignalReference::<bool>::new("approved");
        let sent = approved.send(&true).expect("JSON");
        assert_eq!((sent.name.as_str(), sent.payload), ("approved", json!(true)));
        let receipt = PromiseReference::<u32>::new("receipt");
        assert_eq!(receipt.of("o-1"), "o-1/p/receipt");
        assert_eq!(receipt.value(&3).expect("JSON"), json!(3));
        let leader = QueryReference::<(), String>::new("leader");
        assert_eq!(leader.ask(&()).expect("JSON").input, json!(null));
        assert_eq!(leader.answer(json!("ada")).expect("a text"), "ada");
        let bid = UpdateReference::<u32, ()>::new("bid");
        assert_eq!((bid.name(), bid.send(&5).expect("JSON").input), ("bid", json!(5)));
        let mut answer = UpdateAnswer {
            id: "o-1".into(),
            name: "bid".into(),
            promise: "o-1/a/1".into(),
            state: UpdateState::Accepted,
            output: None,
            failure: None,
        };
        assert_eq!(bid.answer(&answer).expect("no answer"), None);
        answer.state = UpdateState::Completed;
        assert_eq!(bid.answer(&answer).expect("an answer"), Some(()));
    }
}
