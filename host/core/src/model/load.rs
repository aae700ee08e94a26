//! Loading of the rows that a store would load for a command.

use std::collections::BTreeSet;

use super::Model;
use crate::{
    command::Command,
    config::Config,
    footprint::{Footprint, TREE_LIMIT, footprint, widen},
    id::{Digest, PromiseId},
    promise::OutboxKey,
    view::View,
};

/// Maximum number of rounds in which a command's rows are found.
const ROUNDS: usize = 8;

impl Model {
    /// The rows that a store would load for a command, in rounds until no new ones are named.
    ///
    /// # Panics
    /// If the rounds do not end, which is a defect of [`widen`].
    pub fn view(&self, command: &Command, config: &Config) -> View {
        let named = footprint(command);
        let mut loaded = named.clone();
        for _ in 0..ROUNDS {
            let view = self.load(&loaded, |_| true);
            let mut wider = loaded.clone();
            wider.merge(widen(&view, command, &named, config));
            if wider == loaded {
                return view;
            }
            loaded = wider;
        }
        panic!("widening {command:?} does not end");
    }

    /// Loads the named rows. Rows that belong to a promise are loaded only if `is_found` returns
    /// true for it.
    pub fn load(&self, rows: &Footprint, is_found: impl Fn(&PromiseId) -> bool) -> View {
        let mut view = View::new();
        view.raise_first_version(self.first_version());
        let mut composites = rows.composites.clone();
        for (parent, page) in &rows.children {
            let wanted = |id: &&PromiseId| !(page.unasked && self.was_asked_to_stop(id));
            let children = self.children(parent, page.after.as_ref()).filter(wanted);
            composites.extend(children.take(page.limit as usize).cloned());
        }
        for (top, limit) in &rows.trees {
            let tree = self.tree(top, *limit);
            composites.extend(tree.members.iter().cloned());
            let owed = self.outbox().filter(|(key, _)| tree.members.contains(key.promise()));
            owed.for_each(|(key, row)| view.put_outbox(key.clone(), row.clone()));
            view.put_tree(top.clone(), tree);
        }
        for object in &rows.promises_of {
            let promises = self.promises_of(object).take(TREE_LIMIT as usize + 1);
            let ids: BTreeSet<PromiseId> = promises.map(|promise| promise.id().clone()).collect();
            let owed = self.outbox().filter(|(key, _)| ids.contains(key.promise()));
            owed.for_each(|(key, row)| view.put_outbox(key.clone(), row.clone()));
            composites.extend(ids);
        }
        composites.retain(&is_found);
        let mut bare: BTreeSet<&PromiseId> = composites.iter().collect();
        bare.extend(&rows.rows);
        bare.extend(self.held_by(rows));
        for id in bare.into_iter().filter(|id| is_found(id)) {
            self.promise(id).into_iter().for_each(|promise| view.put_promise(promise.clone()));
            self.task(id).into_iter().for_each(|task| view.put_task(task.clone()));
        }
        composites.iter().for_each(|id| self.load_parts(&mut view, id));
        for (id, from) in rows.tails.iter().filter(|(id, _)| is_found(id)) {
            let tail = self.tail(id).get(*from as usize..).unwrap_or_default();
            view.put_tail(id.clone(), tail.to_vec());
        }
        for key in rows.outbox.iter().filter(|key| is_found(key.promise())) {
            let row = self.outbox_row(key);
            row.into_iter().for_each(|row| view.put_outbox(key.clone(), row.clone()));
        }
        for (id, key) in rows.signal_keys.iter().filter(|(id, _)| is_found(id)) {
            let number = self.signal_key(id, key);
            number.into_iter().for_each(|n| view.put_signal_key(id.clone(), key.clone(), n));
        }
        self.load_named(&mut view, rows);
        view
    }

    /// The tasks that the named hosts hold.
    fn held_by<'a>(&'a self, rows: &'a Footprint) -> impl Iterator<Item = &'a PromiseId> {
        let held = self.tasks().filter(|task| {
            task.lease().is_some_and(|lease| rows.held_by.contains(&lease.holder.node))
        });
        held.map(|task| &task.id).filter(|_| !rows.held_by.is_empty())
    }

    /// Loads the rows of a composite other than promise and task.
    fn load_parts(&self, view: &mut View, id: &PromiseId) {
        for (by, consumed) in self.callbacks_on(id) {
            view.put_callback(id.clone(), by.clone(), consumed);
        }
        for on in self.awaited_by(id) {
            let consumed = self.callback(on, id).unwrap_or_default();
            view.put_callback(on.clone(), id.clone(), consumed);
        }
        self.listeners_on(id).for_each(|address| view.put_listener(id.clone(), address.clone()));
        view.put_head(id.clone(), self.head(id));
        let key = OutboxKey::Execute(id.clone());
        let row = self.outbox_row(&key);
        row.into_iter().for_each(|row| view.put_outbox(key.clone(), row.clone()));
    }

    /// Loads rows that have names of their own, and the facts of sagas.
    fn load_named(&self, view: &mut View, rows: &Footprint) {
        for alias in &rows.aliases {
            let Some(module) = self.alias(alias) else { continue };
            view.put_alias(alias.clone(), module);
            self.load_module(view, &module);
        }
        rows.modules.iter().for_each(|module| self.load_module(view, module));
        rows.hosts.iter().for_each(|node| view.put_host(node.clone(), self.incarnation(node)));
        self.load_schedules(rows, view);
        self.load_resources(rows, view);
        self.load_tree_counts(rows, view);
        self.load_budgets(rows, view);
        self.load_facts(rows, view);
        self.load_lines(rows, view);
        self.load_limits(rows, view);
        self.load_streams(rows, view);
    }

    fn load_module(&self, view: &mut View, module: &Digest) {
        let facts = self.module_facts(module);
        facts.into_iter().for_each(|facts| view.put_module_facts(*module, facts.clone()));
    }
}
