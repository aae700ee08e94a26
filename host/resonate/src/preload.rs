//! The recorded steps of a tree that a worker receives with a task, so that it does not ask for
//! each of them again. The list is bounded; the worker asks for a step that is left out.

use segno_api::Rights;
use segno_core::id::PromiseId;
use segno_store::PromiseFilter;
use serde_json::Value as Json;

use super::{handler::Resonate, protocol_error::ProtocolError, search::current, wire};

/// Maximum number of promises sent with a task.
const COUNT: u32 = 512;
/// Maximum number of bytes of their values.
const BYTES: usize = 1024 * 1024;

/// The promises of `branch`, without `except`, in the order of their ids. A branch is named by a
/// tag, which clients choose: promises outside the sender's rights are left out.
pub(super) async fn of(
    front: &Resonate,
    rights: &Rights,
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
