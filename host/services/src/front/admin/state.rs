//! Writes the state of an object, while no invocation holds its turn.

use std::collections::BTreeMap;

use axum::{extract::Request, http::StatusCode, response::IntoResponse};
use segno_api::shared::unexpected;
use segno_core::{
    address::Address, command::Command, object::StateWrite, reply::Reply, value::Text,
};
use segno_engine::values::journals;
use segno_restate::manifest::ServiceType;
use serde::Deserialize;

use crate::{
    front::{
        ServicesApi,
        error::{AdminError, AdminResult},
        request::json_of_operator,
    },
    ids::{HandlerTarget, scope},
    outcome,
};

/// The body of a write: the new state of an object.
#[derive(Deserialize)]
struct ObjectStateWrite {
    object_key: String,
    scope: Option<String>,
    new_state: BTreeMap<String, Vec<u8>>,
}

/// Replaces the state of an object.
pub(super) async fn write(api: ServicesApi, request: Request, service: &str) -> AdminResult {
    let write: ObjectStateWrite = json_of_operator(&api, request).await?;
    let (_, deployment) = api.services.of_service(service).await?;
    if deployment.service(service).is_none_or(|service| service.ty == ServiceType::Service) {
        return Err(AdminError::new(400, format!("`{service}` has no keys, and no state")));
    }
    let scope = scope(write.scope.as_deref()).map_err(|refused| AdminError::new(400, refused))?;
    let called = HandlerTarget { service, scope, key: Some(&write.object_key), handler: "state" };
    let object = Address::parse(&called.address()).ok().and_then(|address| address.object());
    let object = object.ok_or_else(|| AdminError::new(400, "the key is empty"))?;
    let entries = write.new_state.iter().map(|(name, value)| {
        (Text::from(name.as_str()), Some(journals::payload(&outcome::payload(value))))
    });
    let write = StateWrite { clears: true, entries: entries.collect() };
    match api.execute(Command::ObjectWrite { object, write }).await? {
        Reply::Done => Ok(StatusCode::ACCEPTED.into_response()),
        Reply::Refused(refusal) => Err(refusal.into()),
        other => Err(unexpected(&other).into()),
    }
}
