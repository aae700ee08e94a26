//! A link as a store like any other.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, atomic::Ordering},
};

use async_trait::async_trait;
use segno::resonate::address::Destination;
use segno::store::{
    Census, Due, EventPlace, EventRow, Examined, Found, History, InvocationFilter, InvocationRow,
    Lineage, LogRow, ModuleRow, Page, PromiseFilter, PromiseRow, Ready, ScheduleFilter,
    SchedulePage, SizeReport, Store, StoreError, Survey, Waits,
    house::{HouseError, Van},
};
use segno_core::{
    command::Command,
    id::{Digest, PromiseId, ScheduleId},
    invocation::Record,
    promise::{Delivery, MessageKind, Promise, Schedule},
    reply::Reply,
    snapshot::Snapshot,
    time::Timestamp,
};

use super::{
    fault::Noise,
    link::{Link, unknown},
};

/// Messages to workers and clients of the Resonate protocol leave by the front end of the host that hands them over.
fn is_for_a_front_end(delivery: &Delivery) -> bool {
    match delivery {
        Delivery::Execute { target: address, .. } | Delivery::Unblock { address, .. } => {
            Destination::parse(address).is_some()
        }
        Delivery::Event { .. } => false,
    }
}

#[async_trait]
impl Store for Link {
    async fn execute(&self, commands: Vec<Command>) -> Result<Vec<Reply>, StoreError> {
        self.way().await?;
        let is_heartbeat = |command: &Command| matches!(command, Command::TaskHeartbeat { .. });
        if self.conditions.heartless.load(Ordering::Relaxed) && commands.iter().any(is_heartbeat) {
            return Err(unknown());
        }
        if self.roll(Noise::RequestLoss) {
            return Err(unknown());
        }
        if self.control.is_some() {
            let number = self.network.database.next_commit();
            let strike = {
                let mut strikes =
                    self.network.strikes.lock().unwrap_or_else(PoisonError::into_inner);
                strikes.remove(&number)
            };
            if let Some(how) = strike {
                return Err(self.struck(how, &commands).await);
            }
        }
        let replies = self.commit(&commands).await;
        if self.roll(Noise::RequestTwice) {
            self.again(commands);
        }
        if self.roll(Noise::AnswerLoss) {
            return Err(unknown());
        }
        self.delay().await;
        self.alive().await;
        if self.conditions.cut.load(Ordering::Relaxed) {
            return Err(unknown());
        }
        for reply in &replies {
            if let (Reply::Message(Some(delivery)), Some(_)) = (reply, self.life)
                && !is_for_a_front_end(delivery)
            {
                self.network.bus.deliver(delivery);
            }
        }
        Ok(replies)
    }

    async fn execute_kept(&self, commands: Arc<[Command]>) -> Result<Vec<Reply>, StoreError> {
        self.execute(commands.to_vec()).await
    }

    async fn promise(&self, id: &PromiseId) -> Result<Option<PromiseRow>, StoreError> {
        self.way().await?;
        self.network.database.memory.promise(id).await
    }

    async fn promises(&self, ids: &[PromiseId]) -> Result<Vec<Option<PromiseRow>>, StoreError> {
        self.way().await?;
        self.network.database.memory.promises(ids).await
    }

    async fn journal(
        &self,
        id: &PromiseId,
        from: u32,
        limit: u32,
    ) -> Result<Vec<Record>, StoreError> {
        self.way().await?;
        self.network.database.memory.journal(id, from, limit).await
    }

    async fn logs(&self, id: &PromiseId, from: u32, limit: u32) -> Result<Vec<LogRow>, StoreError> {
        self.way().await?;
        self.network.database.memory.logs(id, from, limit).await
    }

    async fn log_count(&self, id: &PromiseId) -> Result<u32, StoreError> {
        self.way().await?;
        self.network.database.memory.log_count(id).await
    }

    async fn histories(&self, of: &[(PromiseId, u32)]) -> Result<Vec<History>, StoreError> {
        self.way().await?;
        self.network.database.memory.histories(of).await
    }

    fn for_clients(&self) -> Option<Arc<dyn Store>> {
        None
    }

    async fn waits(&self, id: &PromiseId) -> Result<Waits, StoreError> {
        self.way().await?;
        self.network.database.memory.waits(id).await
    }

    async fn list(&self, filter: &InvocationFilter) -> Result<Page<InvocationRow>, StoreError> {
        self.way().await?;
        self.network.database.memory.list(filter).await
    }

    async fn schedule(&self, id: &ScheduleId) -> Result<Option<Schedule>, StoreError> {
        self.way().await?;
        self.network.database.memory.schedule(id).await
    }

    async fn schedules(&self, filter: &ScheduleFilter) -> Result<SchedulePage, StoreError> {
        self.way().await?;
        self.network.database.memory.schedules(filter).await
    }

    async fn find(
        &self,
        filter: &PromiseFilter,
    ) -> Result<Page<PromiseRow, PromiseId>, StoreError> {
        self.way().await?;
        self.network.database.memory.find(filter).await
    }

    async fn due(&self, now: Timestamp, limit: u32) -> Result<Due, StoreError> {
        self.way().await?;
        self.network.database.memory.due(now, limit).await
    }

    async fn ready(
        &self,
        now: Timestamp,
        after: Option<i64>,
        limit: u32,
    ) -> Result<Vec<Ready>, StoreError> {
        self.way().await?;
        self.network.database.memory.ready(now, after, limit).await
    }

    async fn outbox_due(
        &self,
        kind: MessageKind,
        now: Timestamp,
        limit: u32,
    ) -> Result<Due, StoreError> {
        self.way().await?;
        self.network.database.memory.outbox_due(kind, now, limit).await
    }

    async fn events(
        &self,
        after: Option<EventPlace>,
        limit: u32,
    ) -> Result<Vec<EventRow>, StoreError> {
        self.way().await?;
        self.network.database.memory.events(after, limit).await
    }

    async fn census(&self) -> Result<Census, StoreError> {
        self.way().await?;
        self.network.database.memory.census().await
    }

    async fn put_component(
        &self,
        digest: Digest,
        component: Arc<[u8]>,
        description: String,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.way().await?;
        self.network.database.memory.put_component(digest, component, description, now).await
    }

    async fn component(&self, digest: Digest) -> Result<Option<Arc<[u8]>>, StoreError> {
        self.way().await?;
        self.network.database.memory.component(digest).await
    }

    async fn modules(&self) -> Result<Vec<ModuleRow>, StoreError> {
        self.way().await?;
        self.network.database.memory.modules().await
    }

    async fn in_use(&self) -> Result<BTreeMap<Digest, u64>, StoreError> {
        self.way().await?;
        self.network.database.memory.in_use().await
    }

    fn survey(&self) -> &dyn Survey {
        self
    }

    fn lineage(&self) -> &dyn Lineage {
        self.network.database.memory.lineage()
    }

    async fn remove_component(
        &self,
        digest: Digest,
        before: Timestamp,
    ) -> Result<bool, StoreError> {
        self.way().await?;
        self.network.database.memory.remove_component(digest, before).await
    }

    async fn check_writes(&self) -> Result<(), StoreError> {
        self.way().await?;
        self.network.database.memory.check_writes().await
    }

    async fn give_back_room(&self) -> Result<bool, StoreError> {
        self.way().await?;
        self.network.database.memory.give_back_room().await
    }

    async fn wipe(&self) -> Result<(), StoreError> {
        self.way().await?;
        self.network.database.memory.wipe().await
    }

    async fn dump(&self) -> Result<Snapshot, StoreError> {
        self.way().await?;
        self.network.database.memory.dump().await
    }

    async fn close(&self) {}
}

/// The duties that scan the whole store use the same network.
#[async_trait]
impl Survey for Link {
    async fn suspects(&self, after: i64, limit: u32) -> Result<Found<PromiseId>, StoreError> {
        self.way().await?;
        self.network.database.memory.survey().suspects(after, limit).await
    }

    async fn finished(
        &self,
        after: i64,
        limit: u32,
        before: Timestamp,
    ) -> Result<Found<Promise>, StoreError> {
        self.way().await?;
        self.network.database.memory.survey().finished(after, limit, before).await
    }

    async fn examine(
        &self,
        maker: Option<&PromiseId>,
        after: i64,
        limit: u32,
    ) -> Result<Examined, StoreError> {
        self.way().await?;
        self.network.database.memory.survey().examine(maker, after, limit).await
    }

    async fn integrity(&self) -> Result<Vec<String>, StoreError> {
        self.way().await?;
        self.network.database.memory.survey().integrity().await
    }

    async fn move_out(&self, van: &mut dyn Van) -> Result<(), HouseError> {
        self.network.database.memory.survey().move_out(van).await
    }

    async fn size(&self, top: u32) -> Result<SizeReport, StoreError> {
        self.way().await?;
        self.network.database.memory.survey().size(top).await
    }
}
