//! The fence: an operation on another promise under a claim, in one transaction.

use segno_core::{
    command::{Command, FenceAction, FenceOperation},
    id::CommandIndex,
    reply::{FenceResult, Reply},
};
use serde::Deserialize;
use serde_json::json;

use super::{
    envelope::{OperationResult, ResonateAnswer, ResonateRequest, wrapped},
    handler::{Resonate, unexpected},
    json::StrictObject,
    promises::{PromiseCreateData, PromiseSettleData},
    protocol_error::ProtocolError,
    tasks::{NestedOperation, claim},
    wire,
};

#[derive(Deserialize)]
struct TaskFenceData {
    id: String,
    version: u64,
    action: StrictObject<NestedOperation>,
}

pub(super) async fn fence(front: &Resonate, request: &ResonateRequest) -> OperationResult {
    let TaskFenceData { id, version, action: StrictObject(action) } = request.read()?;
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
        Some((_, Ok(FenceResult::Promise { promise, .. }))) => {
            Ok(ResonateAnswer::ok(json!({ "promise": wire::promise(&promise) })))
        }
        Some((_, Err(refusal))) => Err(refusal.into()),
        Some((_, Ok(FenceResult::Held(_) | FenceResult::Done))) | None => {
            return Err(ProtocolError::internal("the engine did not say what an action did"));
        }
    };
    let (_, inner) = wrapped(&action.kind, &request.corr_id, inner);
    // The worker knows its last step, and received the earlier ones when it acquired the task.
    Ok(ResonateAnswer::ok(json!({ "action": inner, "preload": [] })))
}

fn act(
    front: &Resonate,
    request: &ResonateRequest,
    action: &NestedOperation,
) -> Result<FenceOperation, ProtocolError> {
    match action.kind.as_str() {
        "promise.create" => {
            let new =
                action.read::<PromiseCreateData>("promise.create")?.checked(front, request)?;
            Ok(FenceOperation::CreateLoose { new })
        }
        "promise.settle" => {
            let settle: PromiseSettleData = action.read("promise.settle")?;
            let id = request.id("id", settle.id.clone())?;
            let (verdict, value) = settle.checked()?;
            Ok(FenceOperation::Settle { id, verdict, value })
        }
        kind => Err(ProtocolError::bad(format!(
            "`{kind}` cannot be done under a claim: use promise.create or promise.settle"
        ))),
    }
}
