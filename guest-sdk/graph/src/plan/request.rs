//! The request of an `http` node, with its template filled in.

use serde_json::Value;

/// A request to send.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeRequest {
    /// The method, such as `POST`.
    pub method: String,
    /// The address.
    pub url: String,
    /// The headers as pairs of name and value, ascending by name.
    pub headers: Vec<(String, String)>,
    /// The body. `None` if there is none.
    pub body: Option<Value>,
}

/// A part of a request that was filled in with a value other than a text.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("the {part} of the request is no text: {found}")]
pub struct RequestTextError {
    /// The name of the part: `url`, or `header` and its name.
    pub part: String,
    /// The value that is not a text.
    pub found: Value,
}

impl NodeRequest {
    /// Reads the request from the input that
    /// [`CheckedPlan::input_of`](super::CheckedPlan::input_of) returns for an `http` node.
    ///
    /// # Errors
    /// [`RequestTextError`] if an output that was filled in is not a text.
    pub fn of(input: &Value) -> Result<Self, RequestTextError> {
        let text = |part: String, value: &Value| match value {
            Value::String(text) => Ok(text.clone()),
            other => Err(RequestTextError { part, found: other.clone() }),
        };
        let headers = input["headers"].as_object().into_iter().flatten();
        let headers = headers
            .map(|(name, value)| Ok((name.clone(), text(format!("header `{name}`"), value)?)));
        Ok(Self {
            method: text("method".to_owned(), &input["method"])?,
            url: text("url".to_owned(), &input["url"])?,
            headers: headers.collect::<Result<_, RequestTextError>>()?,
            body: Some(&input["body"]).filter(|body| !body.is_null()).cloned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_filled_in_request_has_texts_where_requests_have_them() {
        let input = |url: Value, header: Value| json!({ "method": "PUT", "url": url, "headers": { "x": header }, "body": null });
        let read = NodeRequest::of(&input(json!("http://a"), json!("1"))).expect("a request");
        assert_eq!((read.headers, read.body), (vec![("x".to_owned(), "1".to_owned())], None));
        for (wrong, told) in [
            (input(json!(null), json!("1")), "the url of the request is no text: null"),
            (input(json!("http://a"), json!(7)), "the header `x` of the request is no text: 7"),
        ] {
            assert_eq!(NodeRequest::of(&wrong).expect_err("no request").to_string(), told);
        }
    }
}
