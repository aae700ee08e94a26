//! Operations on promises.

use segno_core::{
    command::Command,
    promise::{NewPromise, Verdict},
    reply::Reply,
    tags,
    time::Timestamp,
    value::{Tags, Text, Value},
};
use serde::Deserialize;
use serde_json::json;

use super::{
    address::{check_listener, check_target},
    envelope::{OperationResult, ResonateAnswer, ResonateRequest},
    handler::{Resonate, unexpected},
    json::StrictObject,
    protocol_error::ProtocolError,
    values::{self, WireValue},
    wire,
};

#[derive(Deserialize)]
struct PromiseIdData {
    id: String,
}

/// The data of `promise.create`, alone or within another operation.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PromiseCreateData {
    id: String,
    timeout_at: i64,
    #[serde(default)]
    param: Option<StrictObject<WireValue>>,
    #[serde(default)]
    tags: Option<Tags>,
}

/// The data of `promise.settle`, alone or within another operation.
#[derive(Deserialize)]
pub(super) struct PromiseSettleData {
    pub(super) id: String,
    state: String,
    #[serde(default)]
    value: Option<StrictObject<WireValue>>,
}

/// The data of `promise.register_callback`, alone or within another operation.
#[derive(Deserialize)]
pub(super) struct CallbackData {
    pub(super) awaited: String,
    pub(super) awaiter: String,
}

#[derive(Deserialize)]
struct ListenerData {
    awaited: String,
    address: String,
}

impl PromiseCreateData {
    /// Returns the promise to create.
    ///
    /// # Errors
    /// 400, 403.
    pub(super) fn checked(
        self,
        front: &Resonate,
        request: &ResonateRequest,
    ) -> Result<NewPromise, ProtocolError> {
        let id = request.id("id", self.id)?;
        if self.timeout_at < 0 {
            return Err(ProtocolError::bad("`timeoutAt` is negative"));
        }
        let mut tags = values::stored_tags(self.tags.unwrap_or_default());
        request.narrow(&mut tags);
        let target = tags::target(&tags);
        target.map(|target| check_target(front.api.reach, target)).transpose()?;
        if let Some(delay) = tags.get(tags::DELAY) {
            let is_instant = |from: &i64| (0..Timestamp::NEVER.0).contains(from);
            let from = delay.parse().ok().filter(is_instant).ok_or_else(|| {
                ProtocolError::bad(format!(
                    "the tag resonate:delay is `{delay}`, which is no time in milliseconds before the year 10000"
                ))
            })?;
            if from >= self.timeout_at {
                return Err(ProtocolError::bad("the tag resonate:delay is not before `timeoutAt`"));
            }
            if target.is_none() {
                return Err(ProtocolError::bad(
                    "the tag resonate:delay needs the tag resonate:target",
                ));
            }
        }
        let param = values::stored(self.param.unwrap_or_default().0)?;
        Ok(NewPromise { id, param, tags, timeout_at: Timestamp(self.timeout_at) })
    }
}

impl PromiseSettleData {
    /// Returns the verdict and the value of the settlement.
    ///
    /// # Errors
    /// 400.
    pub(super) fn checked(self) -> Result<(Verdict, Value), ProtocolError> {
        let verdict = match self.state.as_str() {
            "resolved" => Verdict::Resolved,
            "rejected" => Verdict::Rejected,
            "rejected_canceled" => Verdict::Canceled,
            other => {
                return Err(ProtocolError::bad(format!(
                    "a promise cannot be settled as `{other}`: use resolved, rejected or rejected_canceled"
                )));
            }
        };
        Ok((verdict, values::stored(self.value.unwrap_or_default().0)?))
    }
}

pub(super) async fn get(front: &Resonate, request: &ResonateRequest) -> OperationResult {
    let PromiseIdData { id } = request.read()?;
    let id = request.id("id", id)?;
    shown(front.decide(Command::PromiseGet { id }).await?)
}

pub(super) async fn create(front: &Resonate, request: &ResonateRequest) -> OperationResult {
    let new = request.read::<PromiseCreateData>()?.checked(front, request)?;
    shown(front.decide(Command::PromiseCreate(new)).await?)
}

pub(super) async fn settle(front: &Resonate, request: &ResonateRequest) -> OperationResult {
    let settle: PromiseSettleData = request.read()?;
    let id = request.id("id", settle.id.clone())?;
    let (verdict, value) = settle.checked()?;
    shown(front.decide(Command::PromiseSettle { id, verdict, value }).await?)
}

pub(super) async fn register_callback(
    front: &Resonate,
    request: &ResonateRequest,
) -> OperationResult {
    let CallbackData { awaited, awaiter } = request.read()?;
    let awaited = request.id("awaited", awaited)?;
    let awaiter = request.id("awaiter", awaiter)?;
    shown(front.decide(Command::RegisterCallback { awaited, awaiter }).await?)
}

pub(super) async fn register_listener(
    front: &Resonate,
    request: &ResonateRequest,
) -> OperationResult {
    let ListenerData { awaited, address } = request.read()?;
    let awaited = request.id("awaited", awaited)?;
    check_listener(front.api.reach, &address)?;
    let address = Text::from(address);
    shown(front.decide(Command::RegisterListener { awaited, address }).await?)
}

fn shown(reply: Reply) -> OperationResult {
    match reply {
        Reply::Promise { promise, .. } => {
            Ok(ResonateAnswer::ok(json!({ "promise": wire::promise(&promise) })))
        }
        other => Err(unexpected(&other)),
    }
}
