//! Reruns: recorded executions are run again in memory with a change, and compared with their
//! recordings.

mod path;
mod row;
mod selection;

use std::{
    collections::VecDeque,
    iter,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{Json, extract::State};
use segno_engine::worker::replay::ReplayPacer;
use tokio::sync::mpsc;

use self::{row::RerunSubject, selection::RerunSelection};
use super::{
    Api, ApiError,
    body::JsonBody,
    dry_run::{self, DryRunChange},
    fork::{self, ForkModule},
    model::{RerunPage, RerunRequest, RerunRow},
    page::PageSize,
    refusals::Refusals,
};

/// Number of executions on a page.
const RERUN: PageSize = PageSize { usual: 20, largest: 1_000 };
/// Time after which a page begins no further executions.
const PAGE_TIME: Duration = Duration::from_secs(10);
/// Maximum number of executions of a page that run at the same time.
const CONCURRENT: usize = 4;

/// Runs recorded executions again in memory, with other results or other code, and compares how
/// they end. Their own journals answer the same requests. Nothing is stored, and nothing is done
/// outside.
#[utoipa::path(
    post, path = "/v1/rerun", tag = "invocations",
    request_body = RerunRequest,
    responses((status = 200, body = RerunPage), Refusals),
)]
pub(crate) async fn rerun(
    State(api): State<Api>,
    JsonBody(request, _room): JsonBody<RerunRequest>,
) -> Result<Json<RerunPage>, ApiError> {
    let limit = RERUN.of(request.limit)? as usize;
    if request.at == 0 {
        let reason = "is 0: a journal begins with its first record".to_owned();
        return Err(ApiError::BadField { field: "at", reason });
    }
    let change = DryRunChange {
        at: request.at,
        set: fork::given_results(&request.set)?,
        module: match &request.module {
            Some(name) => Some(ForkModule::find(&api, name).await?),
            None => None,
        },
        unanswered: request.unanswered,
    };
    let change = Arc::new(change);
    let mut selection = RerunSelection::new(request.filter, request.ids, request.after)?;
    let (clock, mut items) = (&api.host.env.clock, Vec::new());
    let began = clock.elapsed();
    loop {
        let subjects = selection.read(&api, limit - items.len()).await?;
        items.extend(rows(&api, &change, subjects).await?);
        let is_late = clock.elapsed().saturating_sub(began) >= PAGE_TIME;
        let next = selection.next();
        if next.is_none() || is_late || items.len() >= limit {
            return Ok(Json(RerunPage { items, next }));
        }
    }
}

/// Runs executions, several at a time. The rows are in the order of the executions.
///
/// The permit of the request admits one at a time. Each further one has a permit of its own, if one
/// is free. If the client goes away, no further execution begins.
async fn rows(
    api: &Api,
    change: &Arc<DryRunChange>,
    subjects: Vec<RerunSubject>,
) -> Result<Vec<RerunRow>, ApiError> {
    let mut found: Vec<Option<RerunRow>> = subjects.iter().map(RerunSubject::skipped).collect();
    let left = subjects.into_iter().enumerate().filter(|(place, _)| found[*place].is_none());
    let left: VecDeque<(usize, RerunSubject)> = left.collect();
    let further = left.len().min(CONCURRENT).saturating_sub(1);
    let permits = (0..further).map_while(|_| api.admission.further());
    let permits: Vec<_> = iter::once(None).chain(permits.map(Some)).collect();
    let left = Arc::new(Mutex::new(left));
    let (sender, mut done) = mpsc::unbounded_channel();
    for permit in permits {
        let (api, change, left, sender) =
            (api.clone(), change.clone(), left.clone(), sender.clone());
        api.host.env.runtime.clone().spawn(
            "rerun",
            Box::pin(async move {
                let _permit = permit;
                let mut pace = ReplayPacer::new(&api.host);
                loop {
                    let next = left.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                    let Some((place, subject)) = next else { return };
                    let run = dry_run::dry_run(&api, &subject.id, &change).await;
                    // The receiver is gone if the client is, or after an error.
                    if sender.send((place, subject.row(run))).is_err() {
                        return;
                    }
                    pace.rest().await;
                }
            }),
        );
    }
    drop(sender);
    while let Some((place, row)) = done.recv().await {
        found[place] = Some(row?);
    }
    let rows: Option<Vec<_>> = found.into_iter().collect();
    rows.ok_or_else(|| ApiError::Internal("an execution was not run again".to_owned()))
}
