//! Commits many commands in few transactions. A failing command affects only its own group.

use segno_core::{
    command::Command,
    reply::{Refusal, Reply},
    unreadable::Subject,
};
use segno_store::{Store, StoreError};

use super::reconcile::chain;
use crate::{
    host::Host,
    resend::{OF_SEVERAL, SentCommands},
};

/// Commits each of `groups`, in order, in as few transactions as possible. Each group is atomic,
/// and all groups share one transaction if the store accepts that. A group that the store refuses
/// is quarantined under the subject of its first command, and has no replies. A group that needs a
/// database of several that is away is postponed until it is back, and has no replies either.
///
/// # Errors
/// The store did not answer: some groups may have been committed.
pub async fn each(
    host: &Host,
    groups: Vec<Vec<Command>>,
) -> Result<Vec<Option<Vec<Reply>>>, StoreError> {
    let quarantine = &host.quarantine;
    // A group that failed before is tried alone, so that it does not delay the others.
    let alone = |group: &Vec<Command>| group.first().is_some_and(|first| quarantine.knows(first));
    let mut answers: Vec<Option<Vec<Reply>>> = groups.iter().map(|_| None).collect();
    let (candidates, healthy): (Vec<_>, Vec<_>) =
        groups.into_iter().enumerate().partition(|(_, group)| alone(group));
    // The vector is a stack: the last element is the next piece.
    let mut pieces: Vec<Vec<(usize, Vec<Command>)>> =
        candidates.into_iter().map(|it| vec![it]).collect();
    pieces.push(healthy);
    while let Some(mut piece) = pieces.pop() {
        if piece.is_empty() {
            continue;
        }
        let commands: Vec<Command> = piece.iter().flat_map(|(_, group)| group).cloned().collect();
        match host.send(commands, OF_SEVERAL).await {
            Ok(SentCommands { replies, .. }) => {
                let mut replies = replies.into_iter();
                for (place, group) in piece {
                    let of_group: Vec<Reply> = replies.by_ref().take(group.len()).collect();
                    answers[place] = noted(host, &group, of_group);
                }
            }
            Err(error) if piece.len() > 1 && is_of_some(&*host.store, &error) => {
                let behind = piece.split_off(piece.len() / 2);
                pieces.extend([behind, piece]);
            }
            Err(error @ StoreError::Away { .. }) if is_of_some(&*host.store, &error) => {
                let first = piece.iter().flat_map(|(_, group)| group.first());
                first.for_each(|first| quarantine.postpone(first, &host.store.missing()));
            }
            Err(error @ StoreError::Database { .. }) => {
                let Some((place, mut group)) = piece.pop() else { continue };
                if group.len() > 1 {
                    // Another command of the group may be at fault. The first one is retried alone.
                    // The work of the others is offered in the usual way.
                    group.truncate(1);
                    pieces.push(vec![(place, group)]);
                } else {
                    put(host, &group, chain(&error));
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(answers)
}

/// True if an error may concern some of the commands only: a row that the store refuses, or one in
/// a database of several that is away.
pub(crate) fn is_of_some(store: &dyn Store, error: &StoreError) -> bool {
    match error {
        StoreError::Database { .. } => true,
        StoreError::Away { .. } => !store.missing().is_empty(),
        _ => false,
    }
}

/// The replies of a group. `None` if its rows cannot be read.
fn noted(host: &Host, group: &[Command], replies: Vec<Reply>) -> Option<Vec<Reply>> {
    if let Some(Reply::Refused(refusal @ Refusal::Unreadable { .. })) = replies.first() {
        put(host, group, refusal.to_string());
        return None;
    }
    let quarantine = &host.quarantine;
    if let Some(subject) = group.first().filter(|it| quarantine.knows(it)).and_then(Subject::of) {
        quarantine.release(&subject);
    }
    Some(replies)
}

fn put(host: &Host, group: &[Command], reason: String) {
    match group.first().and_then(Subject::of) {
        Some(subject) => {
            host.quarantine.put(&subject, reason, host.env.clock.now());
        }
        None => tracing::error!(?group, %reason, "the store refused what the host does on its own"),
    }
}
