//! The executions that the journal of a service invocation waits for.
//!
//! A callee of a service continues when its caller has ended, so no row links it to the caller.
//! Only the request of the call names it.

use std::collections::BTreeSet;

use super::{CommandKind, CommandRequest, FieldValue, Record, RecordBody};
use crate::id::{CommandIndex, PromiseId};

/// Field of a request that names the promise whose settlement is the command's result.
pub const PROMISE_FIELD: &str = "promise";

/// The callees of those calls in these records that have no result yet.
pub fn open_callees(records: &[Record]) -> BTreeSet<PromiseId> {
    let notified: BTreeSet<CommandIndex> = records
        .iter()
        .filter_map(|record| match &record.body {
            RecordBody::Notified { index, .. } => Some(*index),
            _ => None,
        })
        .collect();
    let calls = records.iter().filter_map(|record| match &record.body {
        RecordBody::Command { index, kind: CommandKind::Call, request, .. } => {
            Some((*index, promise_of(request)?))
        }
        _ => None,
    });
    calls.filter(|(index, _)| !notified.contains(index)).map(|(_, callee)| callee).collect()
}

/// The promise that a request names, if it names one.
fn promise_of(request: &CommandRequest) -> Option<PromiseId> {
    let field = request.fields()?.into_iter().find(|field| *field.name == *PROMISE_FIELD)?;
    match field.value {
        FieldValue::Inline(id) => std::str::from_utf8(id.as_slice()).ok().map(PromiseId::from),
        FieldValue::Digest { .. } => None,
    }
}
