//! Beats of hosts and workers, which extend what they hold in each database by itself.

use std::collections::BTreeMap;

use segno_core::{
    command::{Command, HeartbeatItem},
    id::Holder,
    reply::{HeartbeatResult, Reply},
    shard::{DatabaseIndex, HALTED},
};

use super::ShardedStore;
use crate::StoreError;

impl ShardedStore {
    /// Extends claims in each database by itself: one that is away harms the claims in it alone.
    pub(super) async fn heartbeat(
        &self,
        holder: Holder,
        items: Vec<HeartbeatItem>,
    ) -> Result<Reply, StoreError> {
        let shards = self.databases.shards.for_writes();
        let mut parts: BTreeMap<DatabaseIndex, (Vec<usize>, Vec<HeartbeatItem>)> = BTreeMap::new();
        let count = items.len();
        for (place, item) in items.into_iter().enumerate() {
            let part = parts.entry(shards.promise(&item.claim.id)).or_default();
            part.0.push(place);
            part.1.push(item);
        }
        // Leases in a shard that is being moved are extended when it has arrived.
        parts.remove(&HALTED);
        if parts.is_empty() {
            parts.insert(0, (Vec::new(), Vec::new()));
        }
        if let Some(unknown) = parts.keys().find(|database| **database >= self.members.len()) {
            self.member(*unknown)?;
        }
        let databases: Vec<_> = parts.keys().copied().collect();
        let replies = self.presence.send(&databases, |database| {
            let items = parts.get(&database).map(|(_, items)| items.clone()).unwrap_or_default();
            let command = Command::TaskHeartbeat { holder: holder.clone(), items };
            self.members[database].execute_locally(vec![command])
        });
        let mut results = vec![HeartbeatResult::Unanswered; count];
        let (mut refused, mut failed, mut is_answered) = (None, None, false);
        for (database, reply) in replies.await.into_iter().enumerate() {
            let places = parts.remove(&database).map(|(places, _)| places).unwrap_or_default();
            match reply.map(|reply| reply.map(|replies| replies.into_iter().next())) {
                Some(Ok(Some(Reply::Heartbeat(beats)))) => {
                    is_answered = true;
                    for (place, beat) in places.into_iter().zip(beats) {
                        results[place] = beat;
                    }
                }
                Some(Ok(Some(other))) => refused = Some(other),
                Some(Err(error)) => failed = Some(error),
                Some(Ok(None)) | None => {}
            }
        }
        match (refused, failed) {
            (Some(refused), _) => Ok(refused),
            (None, Some(error)) if !is_answered => Err(error),
            _ => Ok(Reply::Heartbeat(results)),
        }
    }

    /// Executes a command on what a worker holds, in each database by itself.
    pub(super) async fn everywhere(&self, command: Command) -> Result<Reply, StoreError> {
        let ask =
            |database: DatabaseIndex| self.members[database].execute_locally(vec![command.clone()]);
        let databases: Vec<_> = (0..self.members.len()).collect();
        let (mut merged, mut failed): (Option<Reply>, _) = (None, None);
        for replies in self.presence.send(&databases, ask).await.into_iter().flatten() {
            let reply = match replies {
                Ok(replies) => replies.into_iter().next(),
                Err(error) => {
                    failed = Some(error);
                    continue;
                }
            };
            merged = match (merged, reply) {
                (Some(Reply::Heartbeat(mut beats)), Some(Reply::Heartbeat(more))) => {
                    beats.extend(more);
                    Some(Reply::Heartbeat(beats))
                }
                (merged, reply) => merged.or(reply),
            };
        }
        match (merged, failed) {
            (Some(reply), _) => Ok(reply),
            (None, Some(error)) => Err(error),
            (None, None) => Ok(Reply::Done),
        }
    }
}
