//! The lines of objects: who has the turn, who waits for it, and what may be written meanwhile.

use std::collections::BTreeSet;

use super::draft::Draft;
use crate::{
    address::Address,
    id::{Digest, ObjectId, PromiseId, fits_within},
    object::{LONGEST_NAME, LONGEST_OBJECT, Line, StateWrite},
    promise::{Promise, Task, TaskState},
    reply::{Conflict, Refusal, Reply},
    tags,
};

pub(super) fn write(
    draft: &mut Draft<'_>,
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
    draft.delta.write_state(object, write);
    Ok(Reply::Done)
}

impl Draft<'_> {
    /// The object whose turn a function needs: none for a function of no object, and for one that
    /// only reads.
    ///
    /// # Errors
    /// [`Refusal::Unprocessable`]: the module is not named. [`Refusal::BadRequest`]: the name is
    /// longer than stores look up.
    pub(super) fn turn_of(
        &self,
        address: &Address,
        module: Option<&Digest>,
    ) -> Result<Option<ObjectId>, Refusal> {
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
        Ok((!only_reads).then_some(object))
    }

    /// Puts an execution at the end of the line. Answers whom it is behind; none: it is its turn.
    pub(super) fn join_line(&mut self, object: &ObjectId, id: &PromiseId) -> Option<PromiseId> {
        let before = self.line(object).filter(|line| self.is_in_line(&line.tail, object)).cloned();
        let (holder, ahead) = match before {
            Some(line) => (line.holder, Some(line.tail)),
            None => (Some(id.clone()), None),
        };
        self.put_line(object, Line { holder, tail: id.clone() });
        ahead
    }

    /// Gives the turn to a pending task that needs one, or parks it behind whom it has to wait for,
    /// who is answered.
    pub(super) fn take_turn(&mut self, id: &PromiseId) -> Option<PromiseId> {
        let object = self.turn(id)?;
        let line = self.line(&object).cloned();
        if line.as_ref().is_some_and(|line| line.is_held_by(id)) {
            return None;
        }
        let holder = line.as_ref().and_then(|line| line.holder.clone());
        let holder = holder.filter(|holder| self.is_in_line(holder, &object));
        let ahead = match self.ahead(id, &object) {
            Ahead::Waiting(ahead) => ahead,
            Ahead::Gone => match holder {
                Some(holder) => holder,
                None => {
                    let tail = line.map_or_else(|| id.clone(), |line| line.tail);
                    self.put_line(&object, Line { holder: Some(id.clone()), tail });
                    return None;
                }
            },
            // It was not to begin before now.
            Ahead::Never => self.join_line(&object, id)?,
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

    /// Before an execution settles: if it still waits for its turn, who is behind it closes up.
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
            self.put_line(&object, Line { tail: ahead, ..line });
        }
    }

    /// The object for whose turn this execution waits, and whom it is behind.
    pub(super) fn waits_for_turn(&self, id: &PromiseId) -> Option<(ObjectId, PromiseId)> {
        let object = self.turn(id).filter(|_| self.is_pending(id))?;
        let is_holder = self.line(&object).is_some_and(|line| line.is_held_by(id));
        match self.ahead(id, &object) {
            Ahead::Waiting(ahead) if !is_holder => Some((object, ahead)),
            _ => None,
        }
    }

    /// Whether an execution needs no turn, or has it.
    pub(super) fn may_begin(&self, id: &PromiseId) -> bool {
        self.turn(id)
            .is_none_or(|object| self.line(&object).is_some_and(|line| line.is_held_by(id)))
    }

    /// Whether the execution may write this to the state of its object: only who has the turn may.
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

    /// The object whose turn the execution has.
    fn held_object(&self, id: &PromiseId) -> Option<ObjectId> {
        self.turn(id).filter(|object| self.line(object).is_some_and(|line| line.is_held_by(id)))
    }

    fn line(&self, object: &ObjectId) -> Option<&Line> {
        match self.delta.lines.get(object) {
            Some(line) => line.as_ref(),
            None => self.view.line(object),
        }
    }

    fn put_line(&mut self, object: &ObjectId, line: Line) {
        if self.line(object) != Some(&line) {
            self.delta.lines.insert(object.clone(), Some(line));
        }
    }

    fn turn(&self, id: &PromiseId) -> Option<ObjectId> {
        self.promise(id).and_then(turn_in)
    }

    /// Whether an id is that of an execution of the object that has not settled: an id may have
    /// begun anew.
    pub(super) fn is_in_line(&self, id: &PromiseId, object: &ObjectId) -> bool {
        self.promise(id).is_some_and(|promise| promise.is_pending() && is_of(promise, object))
    }

    /// Where an execution stands that is not the holder.
    fn ahead(&self, id: &PromiseId, object: &ObjectId) -> Ahead {
        let mut standing = Ahead::Never;
        for (awaited, _) in self.callbacks_by(id) {
            match self.promise(&awaited) {
                Some(promise) if is_of(promise, object) && promise.is_pending() => {
                    return Ahead::Waiting(awaited);
                }
                Some(promise) if is_of(promise, object) => standing = Ahead::Gone,
                _ => {}
            }
        }
        standing
    }
}

/// Who is before an execution in the line.
enum Ahead {
    /// This one, which has not settled.
    Waiting(PromiseId),
    /// Whoever it was has settled.
    Gone,
    /// Nobody: it did not join the line.
    Never,
}

/// The object whose turn an execution needs.
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
    let path = object.as_str().split_once('/').map_or("", |(_, path)| path);
    let is_whole =
        path.split_once('@').is_some_and(|(kind, key)| !kind.is_empty() && !key.is_empty());
    if !is_whole {
        let message = format!("`{object}` is not the name of an object: use MODULE/OBJECT@KEY");
        return Err(Refusal::BadRequest(message));
    }
    Ok(fits_within("the name of the object", object.as_str(), LONGEST_OBJECT)?)
}

/// What becomes of the lines of objects without the promises that go. The last one is gone only after
/// all others have settled; the state of the object goes with it, if `state` says so.
pub(super) fn lines_without(draft: &mut Draft<'_>, gone: &BTreeSet<PromiseId>, state: bool) {
    for object in gone.iter().filter_map(|id| draft.view.promise(id).and_then(turn_in)) {
        let Some(line) = draft.line(&object) else { continue };
        let left = match (gone.contains(&line.tail), &line.holder) {
            (true, _) => None,
            (false, Some(holder)) if gone.contains(holder) => {
                Some(Line { holder: None, tail: line.tail.clone() })
            }
            (false, _) => continue,
        };
        if state && left.is_none() {
            let clears = StateWrite { clears: true, ..StateWrite::default() };
            draft.delta.write_state(&object, &clears);
        }
        draft.delta.lines.insert(object, left);
    }
}
