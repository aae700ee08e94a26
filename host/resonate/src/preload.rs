//! The recorded steps of a tree that a worker receives with a task, so that it need not request
//! each of them. The list is bounded; the worker requests omitted steps.

use segno_api::ClientRights;
use segno_core::id::PromiseId;
use segno_store::PromiseFilter;
use serde_json::Value as Json;

use super::{handler::Resonate, protocol_error::ProtocolError, search::current, wire};

/// Maximum number of promises sent with a task.
const COUNT: u32 = 512;
/// Maximum total size of their values, in bytes.
const BYTES: usize = 1024 * 1024;

/// Returns the promises of `branch` except `except`, by id. A branch is a tag, which clients
/// choose, so promises outside the sender's rights are omitted.
pub(super) async fn of(
    front: &Resonate,
    rights: &ClientRights,
    branch: &str,
    except: &PromiseId,
) -> Result<Vec<Json>, ProtocolError> {
    let filter = PromiseFilter {
        branch: Some(branch.to_owned()),
        prefix: rights.prefix().map(str::to_owned),
        limit: COUNT,
        ..PromiseFilter::default()
    };
    let rows = current(front, front.host.store.read().find(&filter).await?.items).await?;
    let mut room = BYTES;
    let mut told = Vec::new();
    for row in rows.iter().filter(|row| row.promise.id() != except) {
        let value = row.promise.settlement().and_then(|settlement| settlement.value.as_ref());
        let size = row.promise.spec.param.data.len() + value.map_or(0, |value| value.data.len());
        let Some(left) = room.checked_sub(size) else { break };
        room = left;
        told.push(wire::promise(&row.promise));
    }
    Ok(told)
}
