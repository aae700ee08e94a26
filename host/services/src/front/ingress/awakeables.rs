//! Completion of awakeables from outside.

use axum::{extract::Request, http::StatusCode, response::IntoResponse};
use segno_api::shared::unexpected;
use segno_core::{
    command::Command,
    reply::{Refusal, Reply},
    value::Text,
};
use segno_restate::{
    immutable::NotificationId,
    wire::{Failure, OperationOutcome},
};

use crate::{
    front::{
        ServicesApi,
        error::{IngressError, IngressResult},
        request::OF_CALLERS,
    },
    signals,
};

/// Resolves an awakeable with the body, or rejects it with the body as the reason. Only the first
/// completion counts.
pub(super) async fn complete(
    api: ServicesApi,
    request: Request,
    id: &str,
    resolves: bool,
) -> IngressResult {
    let (parts, body) = request.into_parts();
    let (bytes, _room) = OF_CALLERS.read(&api, &parts, body).await?;
    let named =
        signals::awakeable(id).map_err(|refused| IngressError::new(400, refused.to_string()));
    let (invocation, index) = named?;
    let outcome = match resolves {
        true => OperationOutcome::Success(bytes.into()),
        false => {
            let reason = String::from_utf8_lossy(&bytes).into_owned();
            OperationOutcome::Failure(Failure::new(500, reason))
        }
    };
    let (carries, payload) = signals::carried(Some(&outcome));
    let name = Text::from(signals::name(&NotificationId::Signal(index), carries));
    let key = Some(Text::from(format!("awakeable/{index}")));
    match api.execute(Command::Signal { invocation, name, payload, key }).await? {
        // The waiting invocation may have ended meanwhile.
        Reply::Signalled { .. } | Reply::Refused(Refusal::Conflict(_)) => {
            Ok(StatusCode::ACCEPTED.into_response())
        }
        Reply::Refused(Refusal::NotFound(_)) => {
            Err(IngressError::new(404, format!("no invocation waits for the awakeable `{id}`")))
        }
        Reply::Refused(refusal) => Err(refusal.into()),
        other => Err(unexpected(&other).into()),
    }
}
