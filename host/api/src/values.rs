//! Values of promises as JSON, in the encoding that workers use.

use segno_core::value::{Bytes, Tags, Value as Stored};
use segno_engine::values;
use segno_guest::Payload;
use serde_json::{Value, json};

use super::model::FailureView;

/// Builds the parameter of an invocation of `function`.
pub(crate) fn param(function: &str, input: &Value) -> Stored {
    values::param(function, &Payload::Json(input.to_string()), Tags::new())
}

/// Converts JSON to the stored form.
pub(crate) fn stored(json: &Value) -> Stored {
    Stored::of(Bytes::from(json.to_string().into_bytes()))
}

/// Converts a failure to the stored form of a rejection.
pub(crate) fn stored_failure(failure: &FailureView) -> Stored {
    stored(&json!(failure))
}

/// Converts bytes to JSON: parsed if they are JSON, otherwise as an object that marks them as text
/// or bytes.
pub(crate) fn json_of(bytes: &[u8]) -> Value {
    values::shown(bytes)
}

/// Returns the input in an invocation's parameter, for display: a single argument unchanged, no
/// argument as `null`, several as an array.
pub(crate) fn input_of(param: &Stored) -> Value {
    values::payload_json(&values::input(param))
}

/// Returns the failure in the value of a rejected promise. Values of other programs are kept whole
/// in `details`.
pub(crate) fn failure_of(value: Option<&Stored>) -> FailureView {
    let failure = values::failure(value.filter(|value| !value.data.is_empty()));
    FailureView {
        code: failure.code,
        message: failure.message,
        details: failure.details.as_ref().map(values::payload_json),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_comes_back_from_its_parameter() {
        for input in [json!(null), json!([1, 2]), json!({ "order": 7 }), json!("é")] {
            assert_eq!(input_of(&param("ship", &input)), input);
        }
        let many = stored(&json!({ "func": "f", "args": [1, 2] }));
        assert_eq!(input_of(&many), json!([1, 2]));
        assert_eq!(input_of(&stored(&json!({ "func": "f" }))), json!(null));
        assert_eq!(input_of(&Stored::of(&[0xff_u8][..])), json!({ "base64": "/w==" }));
    }

    #[test]
    fn a_failure_is_read_whoever_wrote_it() {
        let failure =
            FailureView { code: 402, message: "declined".to_owned(), details: Some(json!(7)) };
        assert_eq!(failure_of(Some(&stored_failure(&failure))), failure);
        assert_eq!(failure_of(Some(&stored(&json!("no")))).details, Some(json!("no")));
        assert_eq!(failure_of(None).code, 500);
    }
}
