//! Queues of objects: the turn, the waiting executions, and writes to the state.

use std::collections::BTreeSet;

use super::{draft::DecisionDraft, prune::obstacle_unsettled};
use crate::{
    address::{Address, service_of_alias},
    footprint::TREE_LIMIT,
    id::{Digest, ObjectId, PromiseId, check_name, fits_within},
    object::{LONGEST_NAME, LONGEST_OBJECT, ObjectQueue, StateWrite},
    promise::{NewPromise, Promise, Task, TaskState},
    reply::{Conflict, Refusal, Reply, RetentionReason},
    tags,
    time::Timestamp,
    value::Value,
    view::View,
};

pub(super) fn write(
    draft: &mut DecisionDraft<'_>,
    object: &ObjectId,
    write: &StateWrite,
) -> Result<Reply, Refusal> {
    named(object)?;
    if let Some(line) = draft.line(object) {
        let busy = line.members().find(|id| draft.is_in_line(id, object));
        if let Some(holder) = busy.cloned() {
            return Err(Conflict::ObjectBusy { object: object.clone(), holder }.into());
        }
    }
    writable(object, write)?;
    for (name, _) in write.entries.iter().filter(|(_, value)| value.is_some()) {
        check_name("the name of a part of the state", name)?;
    }
    if write.leaves_nothing() {
        let promises = promises_that_go(draft.view, object, Timestamp::NEVER);
        draft.delta.removed.extend(promises.map_err(|kept| stays(object, kept))?);
    }
    draft.delta.write_state(object, write);
    Ok(Reply::Done)
}

/// Refusal for an object that cannot be cleared.
fn stays(object: &ObjectId, kept: RetentionReason) -> Refusal {
    match kept {
        RetentionReason::Awaited { by, .. } => {
            Conflict::ObjectBusy { object: object.clone(), holder: by }.into()
        }
        kept => Refusal::Unprocessable(format!("the promises of `{object}` stay: {kept}")),
    }
}

/// The turn that a function needs.
pub(super) struct RequiredTurn {
    pub(super) object: ObjectId,
    /// True if the function runs once per key.
    pub(super) is_run: bool,
}

impl DecisionDraft<'_> {
    /// The turn that a function needs. `None` for a function without an object, and for one that
    /// only reads.
    ///
    /// # Errors
    /// [`Refusal::Unprocessable`]: the module is not named. [`Refusal::BadRequest`]: the name is
    /// too long for a store to index.
    pub(super) fn turn_of(
        &self,
        address: &Address,
        module: Option<&Digest>,
    ) -> Result<Option<RequiredTurn>, Refusal> {
        let function = match address {
            Address::Wasm { function, key: Some(_), .. } => function.clone(),
            Address::Service { key: Some(_), .. } => {
                address.named().map(|(_, function)| function).unwrap_or_default()
            }
            _ => return Ok(None),
        };
        let Some(object) = address.object() else {
            return Err(Refusal::Unprocessable(format!(
                "`{address}` is a function of an object, which is named with its module: use wasm://MODULE/OBJECT@KEY/FUNCTION"
            )));
        };
        named(&object)?;
        let facts = module.and_then(|module| self.view.module_facts(module));
        let only_reads = facts.is_some_and(|facts| facts.shared.contains(&function));
        let is_run = facts.is_some_and(|facts| facts.runs.contains(&function));
        Ok((!only_reads).then_some(RequiredTurn { object, is_run }))
    }

    /// Checks that the key has had no run yet.
    ///
    /// # Errors
    /// [`Conflict::RanAlready`].
    pub(super) fn runs_first(&self, object: &ObjectId) -> Result<(), Refusal> {
        match self.line(object).and_then(|line| line.run.clone()) {
            Some(run) => Err(Conflict::RanAlready { object: object.clone(), run }.into()),
            None => Ok(()),
        }
    }

    /// Records the run of a key. One that was born settled is not in the queue.
    pub(super) fn note_run(&mut self, object: &ObjectId, id: &PromiseId) {
        let line = self.line(object).cloned();
        let line =
            line.unwrap_or_else(|| ObjectQueue { holder: None, tail: id.clone(), run: None });
        self.put_line(object, ObjectQueue { run: Some(id.clone()), ..line });
    }

    /// The object whose function the invocation runs, if `id` is one of the object's promises.
    pub(super) fn object_with(&self, invocation: &PromiseId, id: &PromiseId) -> Option<ObjectId> {
        let address = Address::parse(self.promise(invocation)?.target()?).ok()?;
        address.object().filter(|object| object.name_of(id).is_some())
    }

    /// Creates a promise of the object whose function the invocation runs, unless it exists.
    pub(super) fn create_of_object(
        &mut self,
        invocation: &PromiseId,
        id: &PromiseId,
    ) -> Result<bool, Refusal> {
        let Some(object) = self.object_with(invocation, id) else {
            return Err(Refusal::Unprocessable(format!(
                "`{invocation}` is a function of no object that has the promise `{id}`"
            )));
        };
        self.create(&NewPromise {
            id: id.clone(),
            param: Value::default(),
            tags: [(tags::OBJECT.to_owned(), object.to_string())].into(),
            timeout_at: Timestamp::NEVER,
        })
    }

    /// Puts an execution at the end of the queue. Returns its predecessor, or `None` if it has the
    /// turn.
    pub(super) fn join_line(&mut self, object: &ObjectId, id: &PromiseId) -> Option<PromiseId> {
        let run = self.line(object).and_then(|line| line.run.clone());
        let before = self.line(object).filter(|line| self.is_in_line(&line.tail, object)).cloned();
        let (holder, ahead) = match before {
            Some(line) => (line.holder, Some(line.tail)),
            None => (Some(id.clone()), None),
        };
        self.put_line(object, ObjectQueue { holder, tail: id.clone(), run });
        ahead
    }

    /// Gives the turn to a pending task that needs one, or parks it behind its predecessor, which
    /// is returned.
    pub(super) fn take_turn(&mut self, id: &PromiseId) -> Option<PromiseId> {
        let object = self.turn(id)?;
        let line = self.line(&object).cloned();
        if line.as_ref().is_some_and(|line| line.is_held_by(id)) {
            return None;
        }
        let holder = line.as_ref().and_then(|line| line.holder.clone());
        let holder = holder.filter(|holder| self.is_in_line(holder, &object));
        let ahead = match self.ahead(id, &object) {
            QueuePredecessor::Waiting(ahead) => ahead,
            QueuePredecessor::Gone => match holder {
                Some(holder) => holder,
                None => {
                    let line = line.unwrap_or_else(|| ObjectQueue {
                        holder: None,
                        tail: id.clone(),
                        run: None,
                    });
                    self.put_line(&object, ObjectQueue { holder: Some(id.clone()), ..line });
                    return None;
                }
            },
            // Its start time has only now been reached.
            QueuePredecessor::Never => self.join_line(&object, id)?,
        };
        self.park(id, &ahead);
        Some(ahead)
    }

    /// Suspends a pending task behind another.
    fn park(&mut self, id: &PromiseId, ahead: &PromiseId) {
        let Some(task) = self.task(id).cloned() else { return };
        self.withdraw(id);
        self.forget_consumed(id);
        self.put_callback(ahead.clone(), id.clone(), Some(false));
        self.put_task(Task { state: TaskState::Suspended, ..task });
    }

    /// If the execution settles while queued, its successor moves up.
    pub(super) fn leave_line(&mut self, id: &PromiseId) {
        let Some((object, ahead)) = self.waits_for_turn(id) else { return };
        let Some(line) = self.line(&object).cloned() else { return };
        let behind = self.callbacks_on(id).into_iter().filter(|(by, consumed)| {
            !consumed && !line.is_held_by(by) && self.turn(by).as_ref() == Some(&object)
        });
        for (by, _) in behind.collect::<Vec<_>>() {
            self.put_callback(id.clone(), by.clone(), None);
            self.put_callback(ahead.clone(), by, Some(false));
        }
        if line.tail == *id {
            self.put_line(&object, ObjectQueue { tail: ahead, ..line });
        }
    }

    /// The object whose turn this execution waits for, and its predecessor.
    pub(super) fn waits_for_turn(&self, id: &PromiseId) -> Option<(ObjectId, PromiseId)> {
        let object = self.turn(id).filter(|_| self.is_pending(id))?;
        let is_holder = self.line(&object).is_some_and(|line| line.is_held_by(id));
        match self.ahead(id, &object) {
            QueuePredecessor::Waiting(ahead) if !is_holder => Some((object, ahead)),
            _ => None,
        }
    }

    /// True if the execution needs no turn, or has it.
    pub(super) fn may_begin(&self, id: &PromiseId) -> bool {
        self.turn(id)
            .is_none_or(|object| self.line(&object).is_some_and(|line| line.is_held_by(id)))
    }

    /// Checks that the execution may write this to the state of its object: only the holder of the
    /// turn may.
    pub(super) fn may_write_held_state(
        &self,
        id: &PromiseId,
        write: &StateWrite,
    ) -> Result<(), Refusal> {
        let Some(object) = self.held_object(id) else {
            return Err(Refusal::Unprocessable(format!(
                "`{id}` has no object whose state it may write: only a function of an object that is not shared writes"
            )));
        };
        writable(&object, write)
    }

    /// Writes the state of the object whose turn the execution has.
    pub(super) fn write_held_state(
        &mut self,
        id: &PromiseId,
        write: &StateWrite,
    ) -> Result<(), Refusal> {
        self.may_write_held_state(id, write)?;
        if let Some(object) = self.held_object(id) {
            self.delta.write_state(&object, write);
        }
        Ok(())
    }

    /// Checks that the execution may append to this stream of the object: only the holder of the
    /// turn may.
    pub(super) fn may_write_held_stream(
        &self,
        id: &PromiseId,
        object: &ObjectId,
        stream: &str,
    ) -> Result<(), Refusal> {
        match self.held_object(id).as_ref() == Some(object) {
            true => Ok(()),
            false => Err(Refusal::Unprocessable(format!(
                "`{id}` may not write the stream `{stream}` of `{object}`: only a function of the object that is not shared writes"
            ))),
        }
    }

    /// Makes the promise that the streams of the object belong to, unless it exists.
    pub(super) fn make_streams_of(&mut self, object: &ObjectId) -> Result<(), Refusal> {
        let tags = [(tags::OBJECT.to_owned(), object.to_string())].into();
        let (id, timeout_at) = (object.streams(), Timestamp::NEVER);
        self.create(&NewPromise { id, param: Value::default(), tags, timeout_at }).map(drop)
    }

    /// The object whose turn the execution has.
    fn held_object(&self, id: &PromiseId) -> Option<ObjectId> {
        self.turn(id).filter(|object| self.line(object).is_some_and(|line| line.is_held_by(id)))
    }

    fn line(&self, object: &ObjectId) -> Option<&ObjectQueue> {
        match self.delta.lines.get(object) {
            Some(line) => line.as_ref(),
            None => self.view.line(object),
        }
    }

    fn put_line(&mut self, object: &ObjectId, line: ObjectQueue) {
        if self.line(object) != Some(&line) {
            self.delta.lines.insert(object.clone(), Some(line));
        }
    }

    fn turn(&self, id: &PromiseId) -> Option<ObjectId> {
        self.promise(id).and_then(turn_in)
    }

    /// True if the id belongs to a pending execution of the object. An id may have been reused.
    pub(super) fn is_in_line(&self, id: &PromiseId, object: &ObjectId) -> bool {
        self.promise(id).is_some_and(|promise| promise.is_pending() && is_of(promise, object))
    }

    /// Position in the queue of an execution that is not the holder.
    fn ahead(&self, id: &PromiseId, object: &ObjectId) -> QueuePredecessor {
        let mut standing = QueuePredecessor::Never;
        for (awaited, _) in self.callbacks_by(id) {
            match self.promise(&awaited) {
                Some(promise) if is_of(promise, object) && promise.is_pending() => {
                    return QueuePredecessor::Waiting(awaited);
                }
                Some(promise) if is_of(promise, object) => standing = QueuePredecessor::Gone,
                _ => {}
            }
        }
        standing
    }
}

/// Predecessor of an execution in the queue.
enum QueuePredecessor {
    /// This one, which is pending.
    Waiting(PromiseId),
    /// The predecessor has settled.
    Gone,
    /// None: the execution did not join the queue.
    Never,
}

/// The object whose turn an execution needs. `None` if it needs none.
pub fn turn_in(promise: &Promise) -> Option<ObjectId> {
    tags::turn(&promise.spec.tags).map(ObjectId::from)
}

fn is_of(promise: &Promise, object: &ObjectId) -> bool {
    tags::turn(&promise.spec.tags) == Some(object.as_str())
}

fn writable(object: &ObjectId, write: &StateWrite) -> Result<(), Refusal> {
    for (name, _) in &write.entries {
        if name.is_empty() {
            let message = format!("a part of the state of `{object}` needs a name");
            return Err(Refusal::BadRequest(message));
        }
        fits_within("the name of a part of the state", name, LONGEST_NAME)?;
    }
    Ok(())
}

fn named(object: &ObjectId) -> Result<(), Refusal> {
    let (module, path) = object.as_str().split_once('/').unwrap_or_default();
    // Keys of registered services may be empty.
    let may_be_empty = service_of_alias(module).is_some();
    let is_whole = path
        .split_once('@')
        .is_some_and(|(kind, key)| !kind.is_empty() && (may_be_empty || !key.is_empty()));
    if !is_whole {
        let message = format!("`{object}` is not the name of an object: use MODULE/OBJECT@KEY");
        return Err(Refusal::BadRequest(message));
    }
    Ok(fits_within("the name of the object", object.as_str(), LONGEST_OBJECT)?)
}

/// Checks a named promise of an object.
pub(super) fn named_by(
    object: &ObjectId,
    new: &NewPromise,
    target: Option<&Address>,
) -> Result<(), Refusal> {
    named(object)?;
    match object.name_of(&new.id).filter(|_| target.is_none()) {
        Some(name) => Ok(fits_within("the name of the promise", name, LONGEST_NAME)?),
        None => Err(Refusal::BadRequest(format!(
            "`{}` is no promise of `{object}`: those are `{}`, and have no target",
            new.id,
            object.promise("NAME")
        ))),
    }
}

/// Remainder of an object after the removal of promises.
pub(crate) struct ObjectRemainder {
    /// True if the object's state and promises are removed as well.
    pub(crate) nothing: bool,
    /// The object's new queue. `None` if no execution is left.
    line: Option<ObjectQueue>,
}

impl ObjectRemainder {
    /// The remainder of an object with this queue after the removal of `gone`. The object's content
    /// is removed with the run of its key, unless a pending execution may still write it; or with
    /// the last of its executions, if `state` is set. The last one can only be removed after all
    /// others have settled.
    pub(crate) fn of(
        view: &View,
        object: &ObjectId,
        line: &ObjectQueue,
        gone: &BTreeSet<PromiseId>,
        state: bool,
    ) -> Self {
        let stays = |id: &Option<PromiseId>| id.clone().filter(|id| !gone.contains(id));
        let (holder, run) = (stays(&line.holder), stays(&line.run));
        let left = match (stays(&Some(line.tail.clone())), run) {
            (Some(tail), run) => Some(ObjectQueue { holder, tail, run }),
            (None, Some(run)) => Some(ObjectQueue { holder, tail: run.clone(), run: Some(run) }),
            (None, None) => None,
        };
        let ran = line.run.is_some() && left.as_ref().is_none_or(|line| line.run.is_none());
        let is_open =
            view.promise(&line.tail).is_some_and(|tail| tail.is_pending() && is_of(tail, object));
        Self { nothing: (ran && !is_open) || (state && left.is_none()), line: left }
    }
}

/// Updates the objects of the removed promises. Returns the additional promises to remove: those of
/// objects that are emptied.
///
/// # Errors
/// [`RetentionReason`]: a promise of such an object must stay.
pub(super) fn objects_without(
    draft: &mut DecisionDraft<'_>,
    gone: &BTreeSet<PromiseId>,
    before: Timestamp,
    state: bool,
) -> Result<BTreeSet<PromiseId>, RetentionReason> {
    let objects: BTreeSet<ObjectId> =
        gone.iter().filter_map(|id| draft.view.promise(id).and_then(turn_in)).collect();
    let mut promises = BTreeSet::new();
    let mut left = Vec::new();
    for object in objects {
        let Some(line) = draft.view.line(&object) else { continue };
        let without = ObjectRemainder::of(draft.view, &object, line, gone, state);
        if without.nothing {
            promises.extend(promises_that_go(draft.view, &object, before)?);
        }
        if without.line.as_ref() != Some(line) {
            left.push((object, without));
        }
    }
    for (object, without) in left {
        if without.nothing {
            let clears = StateWrite { clears: true, ..StateWrite::default() };
            draft.delta.write_state(&object, &clears);
        }
        draft.delta.lines.insert(object, without.line);
    }
    Ok(promises)
}

/// All promises of an object, if each may be removed, including pending ones.
fn promises_that_go(
    view: &View,
    object: &ObjectId,
    before: Timestamp,
) -> Result<BTreeSet<PromiseId>, RetentionReason> {
    let ids: BTreeSet<PromiseId> =
        view.promises_of(object).map(|promise| promise.id().clone()).collect();
    if ids.len() > TREE_LIMIT as usize {
        return Err(RetentionReason::Large);
    }
    match ids.iter().find_map(|id| obstacle_unsettled(view, id, before)) {
        Some(kept) => Err(kept),
        None => Ok(ids),
    }
}
