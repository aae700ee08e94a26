//! A claimed workflow, and records appended under its claim, one after the other.

use segno_core::{
    command::{ClaimRequest, Command},
    id::{Claim, CommandIndex, Holder, PromiseId},
    invocation::{CommandKind, CommandRequest, EngineFacts, Record, RecordBody, Seed},
    reply::Reply,
    time::{Millis, Timestamp},
    value::Payload,
};

use super::MODULE;
use crate::Store;

/// Duration of a lease.
pub(super) const LEASE: Millis = Millis(60_000);

/// Executes one command.
pub(crate) async fn run(host: &dyn Store, command: Command) -> Reply {
    host.execute(vec![command]).await.expect("a reply").remove(0)
}

/// Claims a pending workflow for a node.
pub(crate) async fn acquire(host: &dyn Store, id: &str, node: &str) -> Claim {
    let id = PromiseId::from(id);
    let row = host.read().promise(&id).await.expect("a row").expect("it is there");
    let version = row.task.expect("it has a task").version;
    let holder = Holder { node: node.into(), incarnation: 1 };
    let request = ClaimRequest { holder, nonce: 7, ttl: LEASE };
    let claim = Claim { id: id.clone(), version };
    match run(host, Command::TaskAcquire { claim, request, stall_limit: None }).await {
        Reply::Task(task) => Claim { id, version: task.task.version },
        other => panic!("{other:?}"),
    }
}

/// The command that appends the record with the number `seq`.
pub(crate) fn fence(claim: &Claim, seq: u32) -> Command {
    let body = match seq.checked_sub(1) {
        None => RecordBody::Started {
            function: "order".into(),
            input: Payload::Json("{}".into()),
            module: MODULE,
            seed: Seed([3; 32]),
            engine: EngineFacts::default(),
        },
        Some(index) => RecordBody::Command {
            index: CommandIndex(index),
            kind: CommandKind::Run,
            name: "charge".into(),
            request: CommandRequest::of(&[("input", b"{}")]),
        },
    };
    let records = vec![Record { seq, at: Timestamp(1_000), body }];
    Command::TaskFence { claim: claim.clone(), records, logs: vec![], actions: vec![] }
}

/// The length of the journal in a reply.
pub(super) fn length(reply: &Reply) -> u32 {
    match reply {
        Reply::Fenced { head, .. } => head.len,
        other => panic!("{other:?}"),
    }
}
