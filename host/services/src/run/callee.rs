//! The callees of commands: handlers, and other invocations.

use segno_core::{
    address,
    command::FenceOperation,
    id::{CommandIndex, PromiseId},
    invocation::CommandKind,
    promise::NewPromise,
    tags,
    time::Timestamp,
    value::{Tags, Text},
};
use segno_engine::values;
use segno_guest::Payload;
use segno_restate::{immutable::InvocationTarget, wire::Header};

use super::{journal::CommandRecord, recording_error::RecordingError};
use crate::deployments::{
    BY, HEADER, IDEMPOTENCY, Services, UnknownHandler,
    ids::{self, HandlerTarget},
    outcome,
};

/// The callee of a command, and the parameters of the call.
pub(super) struct CallParameters<'a> {
    pub service: &'a str,
    pub handler: &'a str,
    pub key: &'a str,
    pub parameter: &'a [u8],
    pub headers: &'a [Header],
    pub idempotency_key: Option<&'a str>,
    pub scope: Option<&'a str>,
    pub limit_key: Option<&'a str>,
    pub begins_at: Option<Timestamp>,
}

impl CallParameters<'_> {
    /// The record of a call, and the id of the callee.
    pub(super) async fn record(
        &self,
        services: &Services,
        caller: &PromiseId,
        index: CommandIndex,
    ) -> Result<(CommandRecord, PromiseId), RecordingError> {
        let (target, id) = self.callee(services, caller, index).await?;
        let mut headers = Tags::from([(BY.to_owned(), caller.command(index).to_string())]);
        if let Some(key) = self.idempotency_key {
            headers.insert(IDEMPOTENCY.to_owned(), key.to_owned());
        }
        for header in self.headers {
            headers.insert(format!("{HEADER}{}", header.key), header.value.clone());
        }
        let input = outcome::payload(self.parameter);
        let param = match self.service.strip_prefix("poll://") {
            Some(_) => values::param_of_arguments(self.handler, &json(input), headers),
            None if target.starts_with("wasm://") => {
                values::param(&address::function_of(&target), &json(input), headers)
            }
            None => values::param(&address::function_of(&target), &input, headers),
        };
        let mut tags = Tags::from([
            (tags::TARGET.to_owned(), target.clone()),
            // A callee continues after its caller has ended.
            (tags::DETACHED.to_owned(), "true".to_owned()),
        ]);
        if let Some(at) = self.begins_at {
            tags.insert(tags::DELAY.to_owned(), at.0.to_string());
        }
        let new = NewPromise { id: id.clone(), param, tags, timeout_at: Timestamp::NEVER };
        let name = Text::from(address::path_of(&target));
        let acts = vec![FenceOperation::Create { new, request: None }];
        Ok((CommandRecord { kind: CommandKind::Call, name, awaits: None, acts }, id))
    }

    /// The address and the id of a callee.
    async fn callee(
        &self,
        services: &Services,
        caller: &PromiseId,
        index: CommandIndex,
    ) -> Result<(String, PromiseId), RecordingError> {
        let Self { service, handler, key, idempotency_key, scope, .. } = *self;
        ids::no_limit_key(self.limit_key).map_err(RecordingError::Invalid)?;
        if service.contains("://") {
            let key = Some(key).filter(|key| !key.is_empty());
            if let Some(scope) = scope {
                let message = format!(
                    "`{service}` is no service, and has no scope `{scope}`: call it without one"
                );
                return Err(RecordingError::Invalid(message));
            }
            let target = match (service.strip_prefix("poll://"), key) {
                (Some(_), _) => service.to_owned(),
                (None, Some(key)) => format!("{service}@{key}/{handler}"),
                (None, None) => format!("{service}/{handler}"),
            };
            let id = match idempotency_key {
                Some(idempotent) => PromiseId::new(format!("{target}/i/{idempotent}")),
                None => caller.command(index),
            };
            return Ok((target, id));
        }
        let unknown = |refused: UnknownHandler| RecordingError::Unknown(refused.to_string());
        let (_, deployment) = services.of_service(service).await.map_err(unknown)?;
        let called =
            HandlerTarget { service, scope, key: deployment.key_of(service, key), handler };
        let known = deployment.called(&called).map_err(unknown)?;
        let id = match idempotency_key {
            _ if known.runs_once => called.run(),
            Some(idempotent) => called.idempotent(idempotent),
            None => ids::callee(caller, index),
        };
        Ok((called.address(), id))
    }
}

/// The invocation that a command refers to.
pub(super) fn of_target(
    services: &Services,
    target: Option<&InvocationTarget>,
) -> Result<PromiseId, RecordingError> {
    Ok(match target {
        Some(InvocationTarget::InvocationId(id)) => PromiseId::from(id.as_str()),
        Some(InvocationTarget::IdempotentRequest(it)) => {
            let key = it.service_key.as_deref().filter(|key| !key.is_empty());
            let (service, handler) = (it.service_name.as_str(), it.handler_name.as_str());
            let called =
                HandlerTarget { service, scope: scope(it.scope.as_deref())?, key, handler };
            called.idempotent(&it.idempotency_key)
        }
        Some(InvocationTarget::Workflow(it)) => {
            let run = services.run_handler(&it.workflow_name);
            let (service, key) = (it.workflow_name.as_str(), Some(it.workflow_key.as_str()));
            let scope = scope(it.scope.as_deref())?;
            HandlerTarget { service, scope, key, handler: &run }.run()
        }
        None => {
            return Err(RecordingError::Invalid("the command names no invocation".to_owned()));
        }
    })
}

/// Checks the scope of a command. An empty scope counts as none.
pub(super) fn scope(given: Option<&str>) -> Result<Option<&str>, RecordingError> {
    ids::scope(given).map_err(RecordingError::Invalid)
}

/// Workflows and workers take JSON, so an empty input becomes `null`.
fn json(input: Payload) -> Payload {
    match input {
        Payload::Bytes(bytes) if bytes.is_empty() => Payload::Json("null".to_owned()),
        other => other,
    }
}
