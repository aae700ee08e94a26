//! The stored state of an invocation at the beginning of a claim.

use std::{collections::BTreeMap, sync::Arc};

use segno_core::{
    address::Address,
    id::{CommandIndex, Digest, PromiseId},
    invocation::{Outcome as StoredOutcome, Record, RecordBody, Seed, StepResult},
    promise::{CancelState, Promise},
    value::Text,
};
use segno_engine::{
    claim::{ClaimSession, Claimed, ExecutionError, HaltReport, SettlementWatch},
    values::{self, code},
    worker::replay::first_records,
};
use segno_restate::immutable::NotificationResult;
use segno_store::{Store, StoreError};

use super::{
    CalledHandler, InvocationStop, ServiceRun,
    journal::{InvocationInput, InvocationStart, ServiceJournal},
};
use crate::deployments::{
    Deployment, HEADER, HandlerConcurrency, IDEMPOTENCY, Services, UnknownHandler, kind, outcome,
};

impl ServiceRun {
    /// An invocation that is ready for an attempt.
    pub(super) async fn prepare(
        services: Arc<Services>,
        Claimed { acquired, prefetched, session }: Claimed,
    ) -> Result<Self, InvocationStop> {
        let promise = acquired.promise.clone();
        let task = &acquired.task;
        let id = task.id.clone();
        let digest = task
            .module
            .ok_or_else(|| HaltReport::new("damaged", "the task names no deployment"))?;
        let handler = handler(&services, &promise, digest).await?;
        let called = called(&promise);
        let head = acquired.head;
        let journal = match head.len {
            0 => {
                let version = handler.deployment.version();
                let version =
                    version.map_err(|none| HaltReport::new("refused", none.to_string()))?;
                let first = InvocationStart {
                    deployment: digest,
                    seed: Seed::of(&id, promise.spec.created_at),
                    at: session.now().max(promise.spec.created_at),
                };
                ServiceJournal::begin(id.clone(), version, &called, first)
            }
            len => {
                let records = match prefetched.history {
                    Some(history) => history.records,
                    None => records(&session, &promise, len).await?,
                };
                let own = own_values(&*session.host().store, &id, &records).await?;
                ServiceJournal::read(id.clone(), &called, &records, &own)
                    .map_err(|unreadable| HaltReport::new("damaged", unreadable.to_string()))?
            }
        };
        if task.cancel == CancelState::Requested {
            session.active.request_cancel();
        }
        let watch = SettlementWatch::new(session.host().notifier.clone());
        let pause = Arc::new(services.pauses().begin(&id));
        let is_charged = promise.is_charged();
        if is_charged {
            session.active.expect_charge();
        }
        let failed = task.attempt;
        let waiting = services.waits().take(&id, journal.recorded());
        Ok(Self {
            services,
            session,
            id,
            handler,
            journal,
            watch,
            pause,
            is_charged,
            failed,
            signal_unread: true,
            last_len: None,
            waiting,
        })
    }

    /// Records results that arrived while no attempt was running, and watches the other awaited
    /// promises.
    pub(super) async fn look_around(&mut self) -> Result<(), InvocationStop> {
        let awaited: Vec<_> =
            self.journal.open().filter_map(|(_, open)| open.awaits.clone()).collect();
        awaited.iter().for_each(|id| self.watch.add(id));
        let rows = self.session.promises(&awaited).await?;
        for row in rows.into_iter().flatten() {
            self.settled(&row.promise);
        }
        self.read_signals().await?;
        Ok(())
    }
}

/// The handler that the invocation calls.
async fn handler(
    services: &Services,
    promise: &Promise,
    digest: Digest,
) -> Result<CalledHandler, InvocationStop> {
    let target = promise.target().unwrap_or_default();
    let Ok(address @ Address::Service { .. }) = Address::parse(target) else {
        let message = format!("`{target}` is no handler of a service");
        return Err(HaltReport::new("damaged", message).into());
    };
    let object = address.object();
    let Address::Service { service, scope, key, handler: name } = address else { unreachable!() };
    let deployment = match services.deployment(digest).await {
        Ok(deployment) => deployment,
        Err(UnknownHandler::Store(error)) => return Err(error.into()),
        Err(unreadable) => return Err(HaltReport::new("damaged", unreadable.to_string()).into()),
    };
    let Some((known, handler)) = deployment.handler(&service, &name) else {
        return Err(super::AttemptFailure::new(
            code::NOT_FOUND,
            format!("the deployment `{}` has no handler `{service}/{name}`", deployment.uri),
        )
        .into());
    };
    let takes_turns =
        matches!(kind(known, handler), HandlerConcurrency::Exclusive | HandlerConcurrency::Run);
    Ok(CalledHandler {
        turn: object.clone().filter(|_| takes_turns),
        sends_state: deployment.sends_state(known, handler),
        retry: Deployment::retry_policy(known, handler),
        timeouts: Deployment::timeouts(known, handler),
        service: service.to_string(),
        name: name.to_string(),
        scope: scope.map(|scope| scope.to_string()),
        key: key.map(|key| key.to_string()),
        idempotency_key: promise.spec.param.headers.get(IDEMPOTENCY).cloned(),
        object,
        deployment,
    })
}

/// The input and the headers of the call.
pub(super) fn called(promise: &Promise) -> InvocationInput {
    let param = &promise.spec.param;
    let headers = param
        .headers
        .iter()
        .filter_map(|(name, value)| Some((name.strip_prefix(HEADER)?.to_owned(), value.clone())));
    let target = promise.target().unwrap_or_default();
    InvocationInput {
        function: Text::from(segno_core::address::path_of(target)),
        input: values::input(param),
        headers: headers.collect(),
    }
}

async fn records(
    session: &ClaimSession,
    promise: &Promise,
    len: u32,
) -> Result<Vec<Record>, ExecutionError> {
    let records = first_records(&*session.host().store, promise.id(), len).await?;
    match records.len() {
        found if found < len as usize => {
            Err(HaltReport::new("damaged", format!("the journal ends at record {found}")).into())
        }
        _ => Ok(records),
    }
}

/// The results that are stored only in the promises of their commands.
pub(super) async fn own_values(
    store: &dyn Store,
    id: &PromiseId,
    records: &[Record],
) -> Result<BTreeMap<CommandIndex, StepResult>, StoreError> {
    let left = records.iter().filter_map(|record| match &record.body {
        RecordBody::Notified { index, outcome: StoredOutcome::Own } => Some(*index),
        _ => None,
    });
    let indexes: Vec<CommandIndex> = left.collect();
    if indexes.is_empty() {
        return Ok(BTreeMap::new());
    }
    let ids: Vec<_> = indexes.iter().map(|index| id.command(*index)).collect();
    let rows = store.read().promises(&ids).await?;
    let found = indexes.into_iter().zip(rows).filter_map(|(index, row)| {
        let told = values::told(&row?.promise)?;
        let result: NotificationResult = outcome::of_guest(&told).into();
        Some((index, outcome::stored(&result)))
    });
    Ok(found.collect())
}
