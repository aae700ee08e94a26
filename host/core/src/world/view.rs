//! Views of the whole state: what a store loads for a command, and what a host remembers of a
//! claim.

use crate::{
    command::Command,
    footprint::{Footprint, footprint, widen},
    id::PromiseId,
    promise::OutboxKey,
    state::State,
};

/// What a host remembers of a claim.
pub(super) fn bare(whole: &State, id: &PromiseId) -> Option<State> {
    let mut view = State::new();
    view.put_promise(whole.promise(id)?.bare());
    view.put_task(whole.task(id)?.clone());
    view.put_head(id.clone(), whole.head(id));
    Some(view)
}

/// The rows a store would load for a command, in rounds until nothing new is named.
pub(crate) fn load(whole: &State, command: &Command) -> State {
    let mut view = State::new();
    view.raise_first_version(whole.first_version());
    let named = footprint(command);
    let mut loaded = named.clone();
    put(whole, &mut view, &loaded);
    for round in 0.. {
        let mut wider = loaded.clone();
        wider.merge(widen(&view, command, &named));
        if wider == loaded {
            break;
        }
        assert!(round < 4, "widening {command:?} does not end");
        put(whole, &mut view, &wider);
        loaded = wider;
    }
    view
}

/// Puts the rows that are named.
fn put(whole: &State, view: &mut State, rows: &Footprint) {
    let mut composites = rows.composites.clone();
    for (parent, page) in &rows.children {
        let wanted = |id: &&PromiseId| !(page.unasked && whole.was_asked_to_stop(id));
        let children = whole.children(parent, page.after.as_ref()).filter(wanted);
        composites.extend(children.take(page.limit as usize).cloned());
    }
    for (top, limit) in &rows.trees {
        let tree = whole.tree(top, *limit);
        composites.extend(tree.members.iter().cloned());
        for (key, row) in whole.outbox().filter(|(key, _)| tree.members.contains(key.promise())) {
            view.put_outbox(key.clone(), row.clone());
        }
        view.put_tree(top.clone(), tree);
    }
    for id in composites.iter().chain(&rows.rows) {
        whole.promise(id).into_iter().for_each(|promise| view.put_promise(promise.clone()));
        whole.task(id).into_iter().for_each(|task| view.put_task(task.clone()));
    }
    for id in &composites {
        whole
            .callbacks_on(id)
            .for_each(|(by, consumed)| view.put_callback(id.clone(), by.clone(), consumed));
        for on in whole.awaited_by(id) {
            let consumed = whole.callback(on, id).expect("both indexes agree");
            view.put_callback(on.clone(), id.clone(), consumed);
        }
        whole.listeners_on(id).for_each(|address| view.put_listener(id.clone(), address.clone()));
        view.put_head(id.clone(), whole.head(id));
        let key = OutboxKey::Execute(id.clone());
        whole
            .outbox_row(&key)
            .into_iter()
            .for_each(|row| view.put_outbox(key.clone(), row.clone()));
    }
    for (id, from) in &rows.tails {
        view.put_tail(id.clone(), whole.tail(id)[*from as usize..].to_vec());
    }
    for key in &rows.outbox {
        whole.outbox_row(key).into_iter().for_each(|row| view.put_outbox(key.clone(), row.clone()));
    }
    for alias in &rows.aliases {
        whole.alias(alias).into_iter().for_each(|module| view.put_alias(alias.clone(), module));
    }
    rows.modules
        .iter()
        .filter(|module| whole.has_module(module))
        .for_each(|module| view.put_module(*module));
    rows.hosts.iter().for_each(|node| view.put_host(node.clone(), whole.incarnation(node)));
    for task in whole.tasks() {
        if task.lease().is_some_and(|lease| rows.held_by.contains(&lease.holder.node)) {
            view.put_task(task.clone());
            whole
                .promise(&task.id)
                .into_iter()
                .for_each(|promise| view.put_promise(promise.clone()));
        }
    }
    for id in &rows.schedules {
        whole.schedule(id).into_iter().for_each(|schedule| view.put_schedule(schedule.clone()));
    }
    for name in &rows.resources {
        whole.resource(name).into_iter().for_each(|row| view.put_resource(row.clone()));
        let lease = whole.resource_lease(name);
        lease.into_iter().for_each(|lease| view.put_resource_lease(lease.clone()));
    }
    for id in &rows.facts {
        for (key, fact) in whole.facts_of(id) {
            view.put_fact(id.clone(), key.clone(), fact.clone());
        }
    }
    for (id, key) in &rows.signal_keys {
        whole
            .signal_key(id, key)
            .into_iter()
            .for_each(|n| view.put_signal_key(id.clone(), key.clone(), n));
    }
}
