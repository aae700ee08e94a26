//! The executions that the journal of a service's invocation waits for.
//!
//! A callee of a service goes on when its caller has ended, so no row says that it belongs to the caller. The request of
//! the call names it.

use std::collections::BTreeSet;

use super::{CommandKind, FieldValue, Record, RecordBody, Request};
use crate::id::{CommandIndex, PromiseId};

/// The field of a request with the promise whose settlement is the command's result.
pub const PROMISE_FIELD: &str = "promise";

/// The callees of the calls among these records that have no result.
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

/// The promise that a request names.
fn promise_of(request: &Request) -> Option<PromiseId> {
    let field = request.fields()?.into_iter().find(|field| *field.name == *PROMISE_FIELD)?;
    match field.value {
        FieldValue::Inline(id) => std::str::from_utf8(id.as_slice()).ok().map(PromiseId::from),
        FieldValue::Digest { .. } => None,
    }
}
