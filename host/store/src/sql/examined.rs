//! Assembles a page of promises with everything that belongs to them. Rows that cannot be read are
//! reported.

use std::collections::BTreeSet;

use segno_core::{
    graph::GraphRunParameters,
    id::{CommandIndex, ObjectId, PromiseId},
    transition::turn_in,
    view::View,
};

use super::{
    OwnedTable, RowFields, SqlFailure, StoredPromise, head, id,
    large_value::ChunkSet,
    module_facts, outbox, records,
    rows::{damaged, needed},
    schedule, small, stored_promise,
    table::{budget, limit, line, partition},
    task, text,
};
use crate::ExaminedPage;

impl ExaminedPage {
    /// Adds a promise of the page, with its task. Returns its number.
    pub(crate) fn put_member(
        &mut self,
        row: &impl RowFields,
        large: &mut Vec<StoredPromise>,
    ) -> Result<i64, SqlFailure> {
        self.ids.push(id(row, 1)?);
        self.put(row, large)?;
        row.int(0)?.ok_or(SqlFailure::NoRow)
    }

    /// Adds a promise with its task. One with large values goes to `large`.
    pub(crate) fn put(
        &mut self,
        row: &impl RowFields,
        large: &mut Vec<StoredPromise>,
    ) -> Result<(), SqlFailure> {
        let id = id(row, 1)?;
        self.keep(stored_promise(row), |state, (_, stored)| match stored.is_inline() {
            true => state.put_promise(stored.promise),
            false => large.push(stored),
        });
        self.keep(task(row, &id), |state, task| {
            task.into_iter().for_each(|task| state.put_task(task));
        });
        Ok(())
    }

    /// Adds a promise with large values.
    pub(crate) fn put_large(&mut self, stored: StoredPromise, chunks: &ChunkSet) {
        self.keep(stored.whole(chunks), View::put_promise);
    }

    /// Adds a module with its facts.
    pub(crate) fn put_module(&mut self, row: &impl RowFields) {
        self.keep(module_facts(row, 0, 1), |state, (module, facts)| {
            state.put_module_facts(module, facts);
        });
    }

    pub(crate) fn put_schedule(&mut self, row: &impl RowFields) {
        self.keep(schedule(row), View::put_schedule);
    }

    /// Adds a row of an invocation: the invocation's id, then the row's other columns.
    pub(crate) fn put_owned(&mut self, owned: &OwnedTable, row: &impl RowFields) {
        let read = (owned.read)(row, 0, &mut self.view);
        self.keep(read, |_, ()| {});
    }

    /// Adds the queue of an object.
    pub(crate) fn put_line(&mut self, row: &impl RowFields) {
        self.keep(line(row), |state, (object, line)| state.put_line(object, line));
    }

    /// The promises of the page that have budgets of their own.
    pub(crate) fn accounts(&self) -> Vec<PromiseId> {
        let accounts = self.view.promises().filter(|promise| promise.is_account());
        accounts.map(|promise| promise.id().clone()).collect()
    }

    pub(crate) fn put_budget(&mut self, row: &impl RowFields) {
        self.keep(budget(row), |state, (account, budget)| state.put_budget(account, budget));
    }

    pub(crate) fn put_limit(&mut self, row: &impl RowFields) {
        self.keep(limit(row), |state, (name, limit)| state.put_limit(name, limit));
    }

    /// Adds a key of a limit.
    pub(crate) fn put_partition(&mut self, row: &impl RowFields) {
        self.keep(partition(row), |state, (id, row)| state.put_partition(id, row));
    }

    /// The limits that apply to the promises of the page, and their keys.
    pub(crate) fn limits(&self) -> (BTreeSet<String>, BTreeSet<String>) {
        let partitions = || self.view.places().map(|(_, place)| &place.partition);
        let limits = partitions().map(|partition| partition.limit().to_string()).collect();
        (limits, partitions().map(ToString::to_string).collect())
    }

    /// The objects in whose queues the promises of the page are.
    pub(crate) fn objects(&self) -> BTreeSet<ObjectId> {
        self.view.promises().filter_map(turn_in).collect()
    }

    /// Adds a callback: awaited, awaiter, consumed.
    pub(crate) fn put_callback(&mut self, row: &impl RowFields) -> Result<(), SqlFailure> {
        let (awaited, awaiter) = (id(row, 0)?, id(row, 1)?);
        let consumed = row.int(2).and_then(|consumed| needed(consumed, &awaiter, "consumed"));
        self.keep(consumed, |state, consumed| state.put_callback(awaited, awaiter, consumed == 1));
        Ok(())
    }

    /// Adds a listener: awaited, address.
    pub(crate) fn put_listener(&mut self, row: &impl RowFields) -> Result<(), SqlFailure> {
        let awaited = id(row, 0)?;
        let address = text(row, 1).map_err(|_| damaged(&awaited, "address of a listener").into());
        self.keep(address, |state, address| state.put_listener(awaited, address));
        Ok(())
    }

    /// Adds a message: its source, then the columns that [`outbox`] reads.
    pub(crate) fn put_message(&mut self, row: &impl RowFields) -> Result<(), SqlFailure> {
        let source = id(row, 0)?;
        self.keep(outbox(row, 1, &source), |state, (key, row)| state.put_outbox(key, row));
        Ok(())
    }

    /// Adds the key of a signal: invocation, key, number of the signal.
    pub(crate) fn put_signal_key(&mut self, row: &impl RowFields) -> Result<(), SqlFailure> {
        let invocation = id(row, 0)?;
        let read = small(row, 2, &invocation, "number of a signal")
            .and_then(|number: u32| Ok((text(row, 1)?, number)));
        self.keep(read, |state, (key, number)| state.put_signal_key(invocation, key, number));
        Ok(())
    }

    /// Adds a part of a journal: its invocation, the columns that [`head`] reads, the records.
    /// Parts must come in journal order.
    pub(crate) fn put_journal(
        &mut self,
        row: &impl RowFields,
        chunks: &ChunkSet,
    ) -> Result<(), SqlFailure> {
        let invocation = id(row, 0)?;
        self.keep(records(row, 6, &invocation, chunks), |state, more| {
            state.extend_tail(&invocation, more);
        });
        let head = head(row, 1, &invocation);
        self.keep(head, |state, head| state.put_head(invocation.clone(), head));
        Ok(())
    }

    /// The promises that rows of the page refer to, and that are not part of it.
    pub(crate) fn referenced(&self) -> Vec<PromiseId> {
        let mut ids = Vec::new();
        for (on, by, _) in self.view.callbacks() {
            ids.extend([on.clone(), by.clone()]);
        }
        ids.extend(self.view.facts().map(|(_, _, fact)| fact.promise.clone()));
        for run in &self.ids {
            let mut nodes = self.view.nodes_of(run).peekable();
            let is_run = nodes.peek().and_then(|_| self.view.promise(run));
            if let Some(Ok(start)) = is_run.map(GraphRunParameters::of) {
                ids.extend(nodes.map(|(node, row)| start.promise_of(run, node, row)));
            }
        }
        for id in &self.ids {
            ids.extend(self.view.promise(id).and_then(|promise| promise.spec.made_by.clone()));
            let signals = self.view.task(id).map_or(0, |task| task.signals);
            ids.extend((0..signals).map(|n| id.signal(n)));
            // A damaged head may claim any number of commands.
            let commands = self.view.head(id).commands.min(self.view.tail(id).len() as u32);
            ids.extend((0..commands).map(|index| id.command(CommandIndex(index))));
        }
        ids.sort();
        ids.dedup();
        ids.retain(|id| self.view.promise(id).is_none());
        ids
    }

    fn keep<T>(&mut self, row: Result<T, SqlFailure>, put: impl FnOnce(&mut View, T)) {
        match row {
            Ok(row) => put(&mut self.view, row),
            Err(SqlFailure::Unreadable(reason)) => self.unreadable.push(reason),
            Err(error) => self.unreadable.push(error.to_string()),
        }
    }
}
