//! A decision's view of a snapshot: the requested rows, as far as they are locked.

use std::collections::BTreeSet;

use segno_core::{footprint::Footprint, id::PromiseId, promise::OutboxKey, state::State};

/// The rows of `whole` that `rows` names. Of promises only those that `is_found` says were found,
/// and awaiters that were locked with them.
pub fn view(whole: &State, rows: &Footprint, is_found: &dyn Fn(&PromiseId) -> bool) -> State {
    let mut view = State::new();
    view.raise_first_version(whole.first_version());
    let mut composites = rows.composites.clone();
    for (parent, page) in &rows.children {
        let children = whole.children(parent, page.after.as_ref());
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
    composites.retain(is_found);
    let mut bare: BTreeSet<&PromiseId> = composites.iter().collect();
    bare.extend(rows.rows.iter().filter(|id| is_found(id)));
    for id in bare {
        whole.promise(id).into_iter().for_each(|promise| view.put_promise(promise.clone()));
        whole.task(id).into_iter().for_each(|task| view.put_task(task.clone()));
    }
    composites.iter().for_each(|id| put_parts(&mut view, whole, id));
    for (id, from) in rows.tails.iter().filter(|(id, _)| is_found(id)) {
        let tail = whole.tail(id);
        view.put_tail(id.clone(), tail.get(*from as usize..).unwrap_or_default().to_vec());
    }
    for key in rows.outbox.iter().filter(|key| is_found(key.promise())) {
        whole.outbox_row(key).into_iter().for_each(|row| view.put_outbox(key.clone(), row.clone()));
    }
    put_named(&mut view, whole, rows);
    for (id, key) in rows.signal_keys.iter().filter(|(id, _)| is_found(id)) {
        let number = whole.signal_key(id, key);
        number.into_iter().for_each(|n| view.put_signal_key(id.clone(), key.clone(), n));
    }
    view
}

/// What belongs to a composite beside promise and task.
fn put_parts(view: &mut State, whole: &State, id: &PromiseId) {
    for (by, consumed) in whole.callbacks_on(id) {
        view.put_callback(id.clone(), by.clone(), consumed);
    }
    for on in whole.awaited_by(id) {
        let consumed = whole.callback(on, id).unwrap_or_default();
        view.put_callback(on.clone(), id.clone(), consumed);
    }
    whole.listeners_on(id).for_each(|address| view.put_listener(id.clone(), address.clone()));
    view.put_head(id.clone(), whole.head(id));
    let key = OutboxKey::Execute(id.clone());
    whole.outbox_row(&key).into_iter().for_each(|row| view.put_outbox(key.clone(), row.clone()));
}

/// What is no promise and belongs to none.
fn put_named(view: &mut State, whole: &State, rows: &Footprint) {
    for alias in &rows.aliases {
        whole.alias(alias).into_iter().for_each(|module| view.put_alias(alias.clone(), module));
    }
    let modules = rows.modules.iter().filter(|module| whole.has_module(module));
    modules.for_each(|module| view.put_module(*module));
    rows.hosts.iter().for_each(|node| view.put_host(node.clone(), whole.incarnation(node)));
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
}
