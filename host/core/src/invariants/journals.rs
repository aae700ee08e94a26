//! Invariants of journals.

use std::collections::BTreeSet;

use super::{Predicate, Violations, each, unless};
use crate::{
    invocation::{JournalHead, Record, RecordBody},
    snapshot::{Journal, Snapshot},
};

pub(super) const PREDICATES: &[Predicate] = &[
    ("journal_prefix", journal_prefix),
    ("journal_has_a_task", journal_has_a_task),
    ("heard_signals_are_recorded", heard_signals_are_recorded),
];

/// Records and commands are numbered without gaps. `Started` is first, and nothing follows
/// `Finished`. Each command is notified at most once, after its record. Time never decreases. The
/// stored head matches the records.
fn journal_prefix(rows: &Snapshot) -> Violations {
    each(&rows.journals, |_, journal| damage(journal))
}

/// Every journal belongs to a task.
fn journal_has_a_task(rows: &Snapshot) -> Violations {
    each(&rows.journals, |id, _| {
        unless(rows.tasks.contains_key(id), || "a journal without a task".to_owned())
    })
}

/// The number of heard signals in a task equals the number in its journal, unless the journal was
/// removed.
fn heard_signals_are_recorded(rows: &Snapshot) -> Violations {
    let is_signal = |record: &&Record| matches!(record.body, RecordBody::Signal { .. });
    each(&rows.tasks, |id, task| {
        let heard = task.inbox.heard.filter(|_| task.journal_removed().is_none())? as usize;
        let records = rows.journals.get(id).map_or(&[][..], |journal| &journal.records);
        let recorded = records.iter().filter(is_signal).count();
        unless(heard == recorded, || format!("{heard} were heard, {recorded} are recorded"))
    })
}

fn damage(journal: &Journal) -> Option<String> {
    let folded =
        journal.records.iter().try_fold(JournalHead::default(), |head, record| head.after(record));
    let mut notified = BTreeSet::new();
    for record in &journal.records {
        if let RecordBody::Notified { index, .. } = &record.body
            && !notified.insert(*index)
        {
            return Some(format!("command {index} was notified twice"));
        }
    }
    match folded {
        Err(refused) => Some(refused.to_string()),
        Ok(head) if head != journal.head => {
            Some(format!("its records end at {head:?}, its head says {:?}", journal.head))
        }
        Ok(_) => None,
    }
}
