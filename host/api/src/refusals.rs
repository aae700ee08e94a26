//! Problem responses common to all routes, for the OpenAPI document.

use std::collections::BTreeMap;

use utoipa::{
    IntoResponses,
    openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder},
};

use super::problem_kind::{PROBLEM_GROUPS, ProblemGroup};

/// Problems that any route may answer; `code` in the problem document is more specific.
pub(crate) struct Refusals;

impl IntoResponses for Refusals {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let schema = || RefOr::Ref(Ref::from_schema_name("Problem"));
        let response = |group: &ProblemGroup| {
            let content = ContentBuilder::new().schema(Some(schema())).build();
            let response = ResponseBuilder::new().description(description(group));
            let response = response.content("application/problem+json", content).build();
            (group.status.as_str().to_owned(), RefOr::T(response))
        };
        PROBLEM_GROUPS.iter().map(response).collect()
    }
}

fn description(group: &ProblemGroup) -> String {
    let mut codes = group.codes.iter().map(|code| format!("`{code}`"));
    let mut parts = group.text.split("{}");
    let mut text = parts.next().unwrap_or_default().to_owned();
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        let count = if parts.peek().is_some() { 1 } else { usize::MAX };
        text += &codes.by_ref().take(count).collect::<Vec<_>>().join(", ");
        text += part;
    }
    text
}
