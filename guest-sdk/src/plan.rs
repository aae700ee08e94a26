//! Plans of graphs that the host runs for a workflow. The host validates them.

use serde::{Serialize, de::IgnoredAny};

use crate::{
    error::{Error, Result},
    finite::to_json,
    payload::{self, Payload},
};

/// The function name that runs a plan.
pub(crate) const GRAPH: &str = "segno:graph";

/// Encodes the input of that call. A plan is never a JSON string, so a string is taken as the
/// plan's JSON text; it is passed on as written, with duplicate keys, which the host refuses.
pub(crate) fn encode<Plan: Serialize + ?Sized, In: Serialize + ?Sized>(
    plan: &Plan,
    input: &In,
) -> Result<Payload> {
    let mut plan = json("the plan", plan)?;
    if plan.starts_with('"') {
        plan = payload::decode("the plan", &Payload::Json(plan))?;
        if let Err(error) = serde_json::from_str::<IgnoredAny>(&plan) {
            let message = format!("the text of the plan is no JSON: {error}");
            return Err(Error::terminal(Error::REFUSED, message));
        }
    }
    let input = json("the input of the plan", input)?;
    Ok(Payload::Json(format!("{{\"plan\":{plan},\"input\":{input}}}")))
}

fn json<T: Serialize + ?Sized>(what: &str, value: &T) -> Result<String> {
    to_json(value).map_err(|error| {
        Error::terminal(Error::REFUSED, format!("{what} cannot be written as JSON: {error}"))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_is_the_json_of_a_plan_and_anything_else_is_written_as_json() {
        let expected = Payload::Json(r#"{"plan":{"nodes":{}},"input":1}"#.to_owned());
        assert_eq!(encode(&json!({ "nodes": {} }), &1).unwrap(), expected);
        assert_eq!(encode(r#"{"nodes":{}}"#, &1).unwrap(), expected);
        let twice = encode(r#"{"name":"a","name":"b"}"#, &()).unwrap();
        let expected = Payload::Json(r#"{"plan":{"name":"a","name":"b"},"input":null}"#.to_owned());
        assert_eq!(twice, expected);
        for text in ["[nodes.a]", "", "{} {}"] {
            let error = encode(text, &()).unwrap_err();
            assert!(error.message().starts_with("the text of the plan is no JSON: "), "{error}");
            assert_eq!(error.code(), 422);
        }
    }
}
