//! Resolution of a path to a handler.

use axum::http::{HeaderMap, header};
use segno_core::id::Digest;

use super::super::error::{IngressError, IngressResult};
use crate::{
    HandlerFacts,
    front::ServicesApi,
    ids::{self, HandlerTarget},
};

/// Default content type of a handler's result.
const JSON: &str = "application/json";

/// A resolved handler.
pub(super) struct ResolvedHandler<'a> {
    /// The service, the handler and the key.
    pub called: HandlerTarget<'a>,
    /// The deployment to which new invocations are routed.
    pub deployment: Digest,
    /// Properties of the handler that affect callers.
    pub facts: HandlerFacts,
    /// Accepted bodies. `None` accepts any, because the manifest has no declaration.
    pub takes: Option<AcceptedBodies>,
    /// Declared content type of the result, and true if an empty result has it as well.
    pub gives: Option<(String, bool)>,
}

impl<'a> ResolvedHandler<'a> {
    /// Resolves the path segments `SERVICE, HANDLER` or `OBJECT, KEY, HANDLER`, within a scope.
    ///
    /// # Errors
    /// The handler does not exist.
    pub(super) async fn of(
        api: &ServicesApi,
        scope: Option<&'a str>,
        segments: &[&'a str],
    ) -> IngressResult<Self> {
        let scope = match scope {
            Some("") => return Err(IngressError::new(400, "the path names no scope")),
            given => ids::scope(given).map_err(|refused| IngressError::new(400, refused))?,
        };
        let called = match *segments {
            [service, handler] => HandlerTarget { service, scope, key: None, handler },
            [service, key, handler] => HandlerTarget { service, scope, key: Some(key), handler },
            _ => {
                let message =
                    "the path names no handler: use /SERVICE/HANDLER or /OBJECT/KEY/HANDLER";
                return Err(IngressError::new(404, message));
            }
        };
        let (digest, deployment) = api.services.of_service(called.service).await?;
        let facts = deployment.called(&called)?;
        let known = deployment.handler(called.service, called.handler);
        let takes =
            known.and_then(|(_, handler)| handler.input.clone()).map(|input| AcceptedBodies {
                content_type: input.content_type,
                required: input.required.unwrap_or_default(),
            });
        let output = known.and_then(|(_, handler)| match &handler.output {
            Some(output) => {
                let kind = output.content_type.clone()?;
                Some((kind, output.set_content_type_if_empty.unwrap_or_default()))
            }
            None => Some((JSON.to_owned(), false)),
        });
        Ok(Self { called, deployment: digest, facts, takes, gives: output })
    }
}

/// Bodies that a handler accepts.
pub(super) struct AcceptedBodies {
    /// Accepted content types, in the syntax of `accept`; `None` if the handler accepts no body.
    content_type: Option<String>,
    /// True if a body is required.
    required: bool,
}

impl AcceptedBodies {
    /// Refuses a body of another content type.
    ///
    /// # Errors
    /// The content type is missing, or not accepted.
    pub(super) fn check(&self, headers: &HeaderMap, is_empty: bool) -> IngressResult<()> {
        let given = headers.get(header::CONTENT_TYPE).map(|given| given.to_str().unwrap_or("?"));
        let refuse = |what: String| Err(IngressError::new(400, what));
        match (&self.content_type, given) {
            (_, None) if is_empty && !self.required => Ok(()),
            (None, _) if is_empty => Ok(()),
            (None, _) => refuse("the handler takes no body".to_owned()),
            (Some(wanted), None) => {
                refuse(format!("the body has no content type: the handler takes `{wanted}`"))
            }
            (Some(wanted), Some(given)) => match is_accepted(wanted, given) {
                true => Ok(()),
                false => refuse(format!("the handler takes `{wanted}`, and not `{given}`")),
            },
        }
    }
}

/// Returns true if a content type matches the accepted ones: `application/json`, `text/*`, `*/*`.
fn is_accepted(wanted: &str, given: &str) -> bool {
    let essence = |kind: &str| kind.split(';').next().unwrap_or_default().trim().to_lowercase();
    let given = essence(given);
    wanted.split(',').map(essence).any(|wanted| match wanted.split_once('/') {
        Some(("*", "*")) => true,
        Some((kind, "*")) => given.split('/').next() == Some(kind),
        _ => wanted == given,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_types_are_compared_as_accept_says() {
        for (wanted, given, is_one) in [
            ("application/json", "application/json; charset=utf-8", true),
            ("application/json", "Application/JSON", true),
            ("application/json", "text/plain", false),
            ("text/*, application/json", "text/html", true),
            ("*/*", "x/y", true),
            ("text/*", "application/text", false),
        ] {
            assert_eq!(is_accepted(wanted, given), is_one, "{wanted} {given}");
        }
    }
}
