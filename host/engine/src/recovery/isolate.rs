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
        error => is_partly_away(store, error),
    }
}

/// True if the error is that of a database of several which is away.
pub(super) fn is_partly_away(store: &dyn Store, error: &StoreError) -> bool {
    match error {
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

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    };

    use async_trait::async_trait;
    use segno_core::{
        id::PromiseId,
        promise::NewPromise,
        time::Timestamp,
        value::{Tags, Value},
    };
    use segno_store::{CallTree, Modules, Read, Scan, WorkQueue};

    use super::*;
    use crate::testing;

    /// A store of two databases, of which one may be away. It has the promises that begin with
    /// `away`.
    struct HalfAway {
        whole: Arc<dyn Store>,
        is_away: AtomicBool,
        /// True if it has no other database.
        is_single: bool,
    }

    #[async_trait]
    impl Store for HalfAway {
        async fn execute(&self, commands: Vec<Command>) -> Result<Vec<Reply>, StoreError> {
            let is_there = |command: &Command| {
                Subject::of(command).is_some_and(|subject| subject.id().starts_with("away"))
            };
            match self.is_away.load(Ordering::Relaxed) && commands.iter().any(is_there) {
                true => Err(StoreError::Away { reason: "connection refused".to_owned() }),
                false => self.whole.execute(commands).await,
            }
        }

        fn read(&self) -> &dyn Read {
            self.whole.read()
        }

        fn work_queue(&self) -> &dyn WorkQueue {
            self.whole.work_queue()
        }

        fn scan(&self) -> &dyn Scan {
            self.whole.scan()
        }

        fn call_tree(&self) -> &dyn CallTree {
            self.whole.call_tree()
        }

        fn modules(&self) -> &dyn Modules {
            self.whole.modules()
        }

        fn for_clients(&self) -> Option<Arc<dyn Store>> {
            None
        }

        async fn check_writes(&self) -> Result<(), StoreError> {
            self.whole.check_writes().await
        }

        fn missing(&self) -> Vec<String> {
            let is_away = self.is_away.load(Ordering::Relaxed) && !self.is_single;
            is_away.then(|| "postgres://b/segno".to_owned()).into_iter().collect()
        }

        async fn vacuum(&self) -> Result<bool, StoreError> {
            self.whole.vacuum().await
        }

        async fn wipe(&self) -> Result<(), StoreError> {
            self.whole.wipe().await
        }

        async fn close(&self) {}
    }

    #[tokio::test]
    async fn what_needs_a_database_that_is_away_is_postponed_and_nothing_else() {
        let whole = testing::host();
        let store = Arc::new(HalfAway {
            whole: whole.store.clone(),
            is_away: AtomicBool::new(false),
            is_single: false,
        });
        let host = Host { store: store.clone(), ..whole };
        let id = |number: usize| match number % 10 {
            7 => PromiseId::from(&*format!("away-{number}")),
            _ => PromiseId::from(&*format!("here-{number}")),
        };
        let new = |number| NewPromise {
            id: id(number),
            param: Value::default(),
            tags: Tags::new(),
            timeout_at: Timestamp(1),
        };
        let made = (0..40).map(|number| Command::PromiseCreate(new(number))).collect();
        store.execute(made).await.expect("they are made");
        let due = |number| Command::PromiseDue { id: id(number) };
        let fire = || each(&host, (0..40).map(|number| vec![due(number)]).collect());

        store.is_away.store(true, Ordering::Relaxed);
        let fired = fire().await.expect("the others are due");
        let left: Vec<usize> = (0..40).filter(|number| fired[*number].is_none()).collect();
        assert_eq!(left, [7, 17, 27, 37]);
        let (quarantine, now) = (&host.quarantine, host.env.clock.now());
        assert!((0..40).all(|number| quarantine.rests(&due(number), now) == (number % 10 == 7)));
        assert!(quarantine.is_empty(), "no row is at fault");

        store.is_away.store(false, Ordering::Relaxed);
        quarantine.resume(&host.store.missing());
        assert!((0..40).all(|number| !quarantine.rests(&due(number), now)));
        assert!(fire().await.expect("all are due").iter().all(Option::is_some));
    }

    /// If the only database is away, nothing is postponed: the whole turn is repeated.
    #[tokio::test]
    async fn the_only_database_is_away() {
        let whole = testing::host();
        let store = HalfAway {
            whole: whole.store.clone(),
            is_away: AtomicBool::new(true),
            is_single: true,
        };
        let host = Host { store: Arc::new(store), ..whole };
        let due = |id: &str| Command::PromiseDue { id: id.into() };
        let failed = each(&host, vec![vec![due("here")], vec![due("away")]]).await;
        assert!(matches!(failed, Err(StoreError::Away { .. })), "{failed:?}");
        assert!(!host.quarantine.rests(&due("away"), host.env.clock.now()));
    }
}
