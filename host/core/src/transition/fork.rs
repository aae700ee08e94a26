//! Creation of a fork: an invocation that begins with records of another one. Like any other, it
//! waits for its turn and behind its limit, and is then offered. Its journal and the promises of
//! its copied commands exist from the beginning.

use std::sync::Arc;

use super::{
    append::{BatchStatus, progressed},
    create::PromiseCreator,
    draft::DecisionDraft,
    promises::record,
};
use crate::{
    fork::{Fork, ForkOrigin, KeptPromise},
    id::PromiseId,
    invocation::{Record, encode_records},
    keyed_request::RequestParts,
    promise::{Promise, PromiseSpec, PromiseState, Settlement, Task, Verdict},
    reply::{Refusal, Reply},
    tags,
    time::Timestamp,
    value::Value,
};

/// Executes [`Command::InvocationFork`](crate::command::Command::InvocationFork).
pub(super) fn fork(draft: &mut DecisionDraft<'_>, fork: &Fork) -> Result<Reply, Refusal> {
    let id = &fork.new.id;
    draft.touch(id);
    if let Some(flaw) = fork.flaw() {
        return Err(Refusal::BadRequest(flaw));
    }
    if draft.promise(id).is_some() {
        if !draft.is_this_fork(fork) {
            parts(&fork.forked().to_tag(), &fork.records).repeats(
                &draft.first_parts(fork),
                "the id",
                id.as_str(),
            )?;
        }
        return record(draft, id, false);
    }
    if fork.new.timeout_at <= draft.now {
        return Err(Refusal::BadRequest(format!("the deadline of `{id}` has come already")));
    }
    let mark = draft.mark();
    let made = draft.make_fork(fork);
    if made.is_err() {
        draft.go_back(mark);
    }
    made
}

/// The parts that are compared when a fork is repeated.
fn parts<'a>(origin: &str, records: impl IntoIterator<Item = &'a Record>) -> RequestParts {
    RequestParts::new().text("origin", origin).data("result", &encode_records(records))
}

impl DecisionDraft<'_> {
    /// True if the existing invocation was created by this same command, whose reply was lost.
    fn is_this_fork(&mut self, fork: &Fork) -> bool {
        let there = self.promise(&fork.new.id);
        let forked = there.and_then(|promise| ForkOrigin::of(&promise.spec.tags));
        let is_longer = self.head(&fork.new.id).len as usize >= fork.records.len();
        forked == Some(fork.forked())
            && is_longer
            && self.append(&fork.new.id, &fork.records, &[]) == Ok(BatchStatus::Stored)
    }

    /// The compared parts of the existing invocation.
    fn first_parts(&self, fork: &Fork) -> RequestParts {
        let id = &fork.new.id;
        let tags = self.promise(id).map(|promise| &promise.spec.tags);
        let origin = tags.and_then(|tags| tags.get(tags::FORK)).map_or("", String::as_str);
        let length = fork.records.len();
        let records = self.view.tail(id).iter().filter(|record| (record.seq as usize) < length);
        parts(origin, records)
    }

    fn make_fork(&mut self, fork: &Fork) -> Result<Reply, Refusal> {
        let id = &fork.new.id;
        self.make(&fork.new, PromiseCreator::Fork { module: fork.module }, None)?;
        let made = self.existing(id)?;
        if !made.is_pending() {
            return Err(Refusal::Unprocessable(format!(
                "`{id}` is not to begin: its limit lets another execution begin in its place"
            )));
        }
        let mut spec = PromiseSpec::clone(&made.spec);
        spec.tags.insert(tags::FORK.to_owned(), fork.forked().to_tag());
        self.put_promise(Promise { spec: Arc::new(spec), state: PromiseState::Pending });
        let batch = self.append(id, &fork.records, &[])?;
        let mut task = self.existing_task(id)?.clone();
        progressed(&mut task, batch, &fork.records);
        self.put_task(task);
        for kept in &fork.kept {
            self.keep(id, kept)?;
        }
        for (name, value) in fork.signals() {
            let task = self.existing_task(id)?.clone();
            self.send(&task, name, &value)?;
        }
        self.fork_streams(fork);
        record(self, id, true)
    }

    /// Creates a settled promise of the invocation. Facts of sagas follow from it as usual.
    fn keep(&mut self, invocation: &PromiseId, kept: &KeptPromise) -> Result<(), Refusal> {
        if self.promise(&kept.id).is_some() {
            return Err(Refusal::IdTaken { id: kept.id.clone() });
        }
        crate::id::fits_under(invocation, &kept.id)?;
        let timed_out = kept.verdict == Verdict::TimedOut;
        let mut tags = self.minted_tags(&kept.tags, invocation, &kept.id, None);
        tags.remove(tags::TARGET);
        let spec = PromiseSpec {
            id: kept.id.clone(),
            param: Value::default(),
            tags,
            made_by: Some(invocation.clone()),
            timeout_at: if timed_out { self.now } else { Timestamp::NEVER },
            created_at: self.now,
        };
        self.put_promise(Promise { spec: Arc::new(spec), state: PromiseState::Pending });
        let value = kept.value.clone().filter(|_| !timed_out);
        let settlement = Settlement { verdict: kept.verdict, value, settled_at: self.now };
        self.settle(&kept.id, settlement, None);
        Ok(())
    }
}

/// True if the invocation of a task is a fork: the copied commands have no promises.
pub(super) fn is_fork(draft: &DecisionDraft<'_>, task: &Task) -> bool {
    draft.promise(&task.id).is_some_and(|promise| promise.spec.tags.contains_key(tags::FORK))
}
