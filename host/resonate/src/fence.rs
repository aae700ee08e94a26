//! The fence: an operation on another promise under a claim, in one transaction.

use segno_core::{
    command::{Command, FenceAct, FenceAction},
    id::CommandIndex,
    reply::{Acted, Reply},
};
use serde::Deserialize;
use serde_json::json;

use super::{
    envelope::{Answer, ResonateRequest, wrapped},
    handler::{Resonate, unexpected},
    json::Object,
    promises::{Create, Settle},
    protocol_error::ProtocolError,
    tasks::{Action, claim},
    wire,
};

#[derive(Deserialize)]
struct Fence {
    id: String,
    version: u64,
    action: Object<Action>,
}

pub(super) async fn fence(
    front: &Resonate,
    request: &ResonateRequest,
) -> Result<Answer, ProtocolError> {
    let Fence { id, version, action: Object(action) } = request.read()?;
    let claim = claim(request, id, version)?;
    let act = act(front, request, &action)?;
    if act.promise() == Some(&claim.id) {
        return Err(ProtocolError::bad(format!(
            "an action under `{0}` cannot be about `{0}`",
            claim.id
        )));
    }
    let actions = vec![FenceAction { index: CommandIndex(0), act }];
    let (records, logs) = (Vec::new(), Vec::new());
    let reply = front.decide(Command::TaskFence { claim, records, logs, actions }).await?;
    let Reply::Fenced { mut outcomes, .. } = reply else { return Err(unexpected(&reply)) };
    let inner = match outcomes.pop() {
        Some((_, Ok(Acted::Promise { promise, .. }))) => {
            Ok(Answer::ok(json!({ "promise": wire::promise(&promise) })))
        }
        Some((_, Err(refusal))) => Err(refusal.into()),
        Some((_, Ok(Acted::Done))) | None => {
            return Err(ProtocolError::internal("the engine did not say what an action did"));
        }
    };
    let (_, inner) = wrapped(&action.kind, &request.corr_id, inner);
    // The worker knows its last step, and received the earlier ones when it acquired the task.
    Ok(Answer::ok(json!({ "action": inner, "preload": [] })))
}

fn act(
    front: &Resonate,
    request: &ResonateRequest,
    action: &Action,
) -> Result<FenceAct, ProtocolError> {
    match action.kind.as_str() {
        "promise.create" => {
            let new = action.read::<Create>("promise.create")?.checked(front, request)?;
            Ok(FenceAct::CreateLoose { new })
        }
        "promise.settle" => {
            let settle: Settle = action.read("promise.settle")?;
            let id = request.id("id", settle.id.clone())?;
            let (verdict, value) = settle.checked()?;
            Ok(FenceAct::Settle { id, verdict, value })
        }
        kind => Err(ProtocolError::bad(format!(
            "`{kind}` cannot be done under a claim: use promise.create or promise.settle"
        ))),
    }
}
