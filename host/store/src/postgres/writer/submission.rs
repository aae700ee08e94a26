//! A submission: the commands of one caller, committed as a whole.

use std::{
    collections::BTreeSet,
    hash::{BuildHasher as _, RandomState},
};

use segno_core::{command::Command, id::Claim, reply::Reply, rests_on, shard::ShardMap};
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
    /// True if it must not share a transaction, because it reads rows that it does not lock, or
    /// those of one database alone.
    pub(super) alone: bool,
    /// True if its commands concern the rows of one database alone.
    pub(super) is_local: bool,
    /// The databases whose rows the commands name, a bit for each; 0 in a store of one database.
    pub(super) databases: u64,
}

impl Submission {
    pub(super) fn new(
        commands: Vec<Command>,
        answer: ReplySender,
        is_local: bool,
        hasher: &RandomState,
        shards: &ShardMap,
    ) -> Self {
        let starts = commands.iter().any(|command| matches!(command, Command::HostStart { .. }));
        let alone = starts || is_local;
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
        let databases = if shards.is_single() { 0 } else { databases(&commands, shards) };
        Self { commands, answer, claim, names, alone, is_local, databases }
    }
}

fn databases(commands: &[FootprintedCommand], shards: &ShardMap) -> u64 {
    let named = commands.iter().map(FootprintedCommand::named);
    let of = named.flat_map(|named| named.clone().databases(shards));
    of.fold(0, |bits, database| bits | 1 << database)
}

fn names(commands: &[FootprintedCommand], hasher: &RandomState) -> Vec<u64> {
    let mut names = BTreeSet::new();
    for named in commands.iter().map(FootprintedCommand::named) {
        names.extend(named.composites.iter().map(|id| hasher.hash_one(id)));
        names.extend(named.outbox.iter().map(|key| hasher.hash_one(key.promise())));
    }
    names.into_iter().collect()
}
