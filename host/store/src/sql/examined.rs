//! A page of promises with everything that belongs to them, as far as it can be read: what cannot
//! is reported.

use std::collections::BTreeSet;

use segno_core::{
    graph::Start,
    id::{CommandIndex, ObjectId, PromiseId},
    transition::turn_in,
    view::View,
};

use super::{
    Failure, Fields, Owned, head, id, module_facts, outbox, promise, records,
    rows::{damaged, needed},
    schedule, small,
    table::{limit, line, partition},
    task, text,
};
use crate::Examined;

impl Examined {
    /// A promise of the page, with its task. Answers its number.
    pub(crate) fn put_member(&mut self, row: &impl Fields) -> Result<i64, Failure> {
        self.ids.push(id(row, 1)?);
        self.put(row)?;
        row.int(0)?.ok_or(Failure::NoRow)
    }

    /// A promise with its task.
    pub(crate) fn put(&mut self, row: &impl Fields) -> Result<(), Failure> {
        let id = id(row, 1)?;
        self.keep(promise(row), |state, (_, promise)| state.put_promise(promise));
        self.keep(task(row, &id), |state, task| {
            task.into_iter().for_each(|task| state.put_task(task));
        });
        Ok(())
    }

    /// A module's digest.
    pub(crate) fn put_module(&mut self, row: &impl Fields) {
        self.keep(module_facts(row, 0, 1), |state, (module, facts)| {
            state.put_module_facts(module, facts);
        });
    }

    /// A schedule.
    pub(crate) fn put_schedule(&mut self, row: &impl Fields) {
        self.keep(schedule(row), View::put_schedule);
    }

    /// A row that belongs to an invocation: whose, then the rest of it.
    pub(crate) fn put_owned(&mut self, owned: &Owned, row: &impl Fields) {
        let read = (owned.read)(row, 0, &mut self.view);
        self.keep(read, |_, ()| {});
    }

    /// The line of an object.
    pub(crate) fn put_line(&mut self, row: &impl Fields) {
        self.keep(line(row), |state, (object, line)| state.put_line(object, line));
    }

    /// A limit.
    pub(crate) fn put_limit(&mut self, row: &impl Fields) {
        self.keep(limit(row), |state, (name, limit)| state.put_limit(name, limit));
    }

    /// A key of a limit.
    pub(crate) fn put_partition(&mut self, row: &impl Fields) {
        self.keep(partition(row), |state, (id, row)| state.put_partition(id, row));
    }

    /// The limits that the promises of the page are behind, and their keys.
    pub(crate) fn limits(&self) -> (BTreeSet<String>, BTreeSet<String>) {
        let partitions = || self.view.places().map(|(_, place)| &place.partition);
        let limits = partitions().map(|partition| partition.limit().to_string()).collect();
        (limits, partitions().map(ToString::to_string).collect())
    }

    /// The objects in whose lines the promises of the page are.
    pub(crate) fn objects(&self) -> BTreeSet<ObjectId> {
        self.view.promises().filter_map(turn_in).collect()
    }

    /// A callback: awaited, awaiter, consumed.
    pub(crate) fn put_callback(&mut self, row: &impl Fields) -> Result<(), Failure> {
        let (awaited, awaiter) = (id(row, 0)?, id(row, 1)?);
        let consumed = row.int(2).and_then(|consumed| needed(consumed, &awaiter, "consumed"));
        self.keep(consumed, |state, consumed| state.put_callback(awaited, awaiter, consumed == 1));
        Ok(())
    }

    /// A listener: awaited, address.
    pub(crate) fn put_listener(&mut self, row: &impl Fields) -> Result<(), Failure> {
        let awaited = id(row, 0)?;
        let address = text(row, 1).map_err(|_| damaged(&awaited, "address of a listener").into());
        self.keep(address, |state, address| state.put_listener(awaited, address));
        Ok(())
    }

    /// A message: about whom, then what [`outbox`] reads.
    pub(crate) fn put_message(&mut self, row: &impl Fields) -> Result<(), Failure> {
        let source = id(row, 0)?;
        self.keep(outbox(row, 1, &source), |state, (key, row)| state.put_outbox(key, row));
        Ok(())
    }

    /// The key of a signal: to whom, the key, which signal.
    pub(crate) fn put_signal_key(&mut self, row: &impl Fields) -> Result<(), Failure> {
        let invocation = id(row, 0)?;
        let read = small(row, 2, &invocation, "number of a signal")
            .and_then(|number: u32| Ok((text(row, 1)?, number)));
        self.keep(read, |state, (key, number)| state.put_signal_key(invocation, key, number));
        Ok(())
    }

    /// A part of a journal: whose, then what [`head`] reads, then the records. In the order of the
    /// journal.
    pub(crate) fn put_journal(&mut self, row: &impl Fields) -> Result<(), Failure> {
        let invocation = id(row, 0)?;
        self.keep(records(row, 6, &invocation), |state, more| {
            state.extend_tail(&invocation, more);
        });
        let head = head(row, 1, &invocation);
        self.keep(head, |state, head| state.put_head(invocation.clone(), head));
        Ok(())
    }

    /// The promises that the rows of the page name, and that are not part of it.
    pub(crate) fn referenced(&self) -> Vec<PromiseId> {
        let mut ids = Vec::new();
        for (on, by, _) in self.view.callbacks() {
            ids.extend([on.clone(), by.clone()]);
        }
        ids.extend(self.view.facts().map(|(_, _, fact)| fact.promise.clone()));
        for run in &self.ids {
            let mut nodes = self.view.nodes_of(run).peekable();
            let is_run = nodes.peek().and_then(|_| self.view.promise(run));
            if let Some(Ok(start)) = is_run.map(Start::of) {
                ids.extend(nodes.map(|(node, row)| start.promise_of(run, node, row)));
            }
        }
        for id in &self.ids {
            ids.extend(self.view.promise(id).and_then(|promise| promise.spec.made_by.clone()));
            let signals = self.view.task(id).map_or(0, |task| task.signals);
            ids.extend((0..signals).map(|n| id.signal(n)));
            // A head that is damaged may claim any number of commands.
            let commands = self.view.head(id).commands.min(self.view.tail(id).len() as u32);
            ids.extend((0..commands).map(|index| id.command(CommandIndex(index))));
        }
        ids.sort();
        ids.dedup();
        ids.retain(|id| self.view.promise(id).is_none());
        ids
    }

    fn keep<T>(&mut self, row: Result<T, Failure>, put: impl FnOnce(&mut View, T)) {
        match row {
            Ok(row) => put(&mut self.view, row),
            Err(Failure::Unreadable(reason)) => self.unreadable.push(reason),
            Err(error) => self.unreadable.push(error.to_string()),
        }
    }
}
