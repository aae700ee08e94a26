//! What one caller asks, to be committed as a whole.

use std::{
    collections::BTreeSet,
    hash::{BuildHasher as _, RandomState},
};

use segno_core::{command::Command, id::Claim, reply::Reply, rests_on};
use tokio::sync::oneshot;

use crate::{StoreError, postgres::batch::FootprintedCommand};

/// Who waits for it.
pub(super) type Answer = oneshot::Sender<Result<Vec<Reply>, StoreError>>;

/// Commands that are decided together or not at all, and who waits for it.
pub(super) struct Submission {
    pub(super) commands: Vec<FootprintedCommand>,
    pub(super) answer: Answer,
    /// The claim that the one command in it rests on alone, if it does.
    pub(super) claim: Option<Claim>,
    /// The promises that they name, hashed: two that look alike by accident only run one after the
    /// other.
    pub(super) names: Vec<u64>,
    /// Whether nothing else may share its transaction: it reads rows that it does not lock.
    pub(super) alone: bool,
}

impl Submission {
    pub(super) fn new(commands: Vec<Command>, answer: Answer, hasher: &RandomState) -> Self {
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
