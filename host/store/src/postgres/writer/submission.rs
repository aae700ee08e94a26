//! A submission: the commands of one caller, committed as a whole.

use std::{
    collections::BTreeSet,
    hash::{BuildHasher as _, RandomState},
};

use segno_core::{command::Command, id::Claim, reply::Reply, rests_on};
use tokio::sync::oneshot;

use crate::{StoreError, postgres::batch::FootprintedCommand};

/// Channel for the replies.
pub(super) type ReplySender = oneshot::Sender<Result<Vec<Reply>, StoreError>>;

/// Commands that are decided together or not at all, and the channel for their replies.
pub(super) struct Submission {
    pub(super) commands: Vec<FootprintedCommand>,
    pub(super) answer: ReplySender,
    /// The claim that its single command depends on alone. `None` if there are several commands, or
    /// if it reads more.
    pub(super) claim: Option<Claim>,
    /// Hashes of the promises that the commands name. After a collision, two submissions merely run
    /// one after the other.
    pub(super) names: Vec<u64>,
    /// True if it must not share a transaction, because it reads rows that it does not lock.
    pub(super) alone: bool,
}

impl Submission {
    pub(super) fn new(commands: Vec<Command>, answer: ReplySender, hasher: &RandomState) -> Self {
        let alone = commands.iter().any(|command| matches!(command, Command::HostStart { .. }));
        let claim = match commands.as_slice() {
            [command] => rests_on(command).cloned(),
            _ => None,
        };
        let commands: Vec<FootprintedCommand> =
            commands.into_iter().map(FootprintedCommand::from).collect();
        let names = match &claim {
            Some(claim) => vec![hasher.hash_one(&claim.id)],
            None => names(&commands, hasher),
        };
        Self { commands, answer, claim, names, alone }
    }
}

fn names(commands: &[FootprintedCommand], hasher: &RandomState) -> Vec<u64> {
    let mut names = BTreeSet::new();
    for named in commands.iter().map(FootprintedCommand::named) {
        names.extend(named.composites.iter().map(|id| hasher.hash_one(id)));
        names.extend(named.outbox.iter().map(|key| hasher.hash_one(key.promise())));
    }
    names.into_iter().collect()
}
