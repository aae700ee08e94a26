//! The handler that a path names.

use segno_engine::services::{HandlerFacts, ids::Called};

use super::super::error::IngressError;
use crate::Api;

/// A handler that is there.
pub struct Target<'a> {
    /// The names and the key.
    pub called: Called<'a>,
    /// What a caller has to know of it.
    pub facts: HandlerFacts,
    /// The content type of what it gives, as far as it says so, and whether nothing has one too.
    pub gives: Option<(String, bool)>,
}

impl<'a> Target<'a> {
    /// The handler of these segments: `SERVICE, HANDLER`, or `OBJECT, KEY, HANDLER`.
    ///
    /// # Errors
    /// There is none.
    pub async fn of(api: &Api, segments: &[&'a str]) -> Result<Self, IngressError> {
        let called = match *segments {
            [service, handler] => Called { service, key: None, handler },
            [service, key, handler] => Called { service, key: Some(key), handler },
            _ => {
                let message =
                    "the path names no handler: use /SERVICE/HANDLER or /OBJECT/KEY/HANDLER";
                return Err(IngressError::new(404, message));
            }
        };
        let (_, deployment) = api.host.services.of_service(called.service).await?;
        let facts = deployment.called(&called)?;
        let output = deployment.handler(called.service, called.handler).and_then(|(_, handler)| {
            let output = handler.output.as_ref()?;
            let kind = output.content_type.clone()?;
            Some((kind, output.set_content_type_if_empty.unwrap_or_default()))
        });
        Ok(Self { called, facts, gives: output })
    }
}
