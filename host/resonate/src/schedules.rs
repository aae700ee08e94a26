//! Operations on schedules.

use segno_core::{
    command::Command,
    id::ScheduleId,
    promise::{NewSchedule, Overlap, PromiseTemplate, Schedule},
    reply::Reply,
    tags,
    time::Millis,
    value::{Tags, Text},
};
use segno_store::ScheduleFilter;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::{
    address::check_target,
    envelope::{OperationResult, ResonateAnswer, ResonateRequest, checked_id},
    handler::{Resonate, unexpected},
    json::StrictObject,
    protocol_error::ProtocolError,
    values::{self, WireValue},
};

const DEFAULT: u32 = 10;
const MOST: u32 = 1_000;

#[derive(Deserialize)]
struct ScheduleIdData {
    id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ScheduleCreateData {
    id: String,
    cron: String,
    promise_id: String,
    promise_timeout: i64,
    #[serde(default)]
    promise_param: Option<StrictObject<WireValue>>,
    #[serde(default)]
    promise_tags: Option<Tags>,
}

#[derive(Deserialize)]
struct ScheduleSearchData {
    #[serde(default)]
    tags: Option<Tags>,
    #[serde(default)]
    limit: Option<u32>,
    #[serde(default)]
    cursor: Option<String>,
}

pub(super) async fn create(front: &Resonate, request: &ResonateRequest) -> OperationResult {
    let create: ScheduleCreateData = request.read()?;
    let id = schedule_id(request, create.id)?;
    checked_id("promiseId", create.promise_id.clone())?;
    // The ids of a schedule's promises begin with the text before the first placeholder; the
    // schedule's own id is already inserted.
    let made = create.promise_id.replace("{{.id}}", id.as_str());
    request.may("promiseId", made.split("{{").next().unwrap_or_default())?;
    let mut tags = values::stored_tags(create.promise_tags.unwrap_or_default());
    request.narrow(&mut tags);
    tags::target(&tags).map(|target| check_target(front.api.reach, target)).transpose()?;
    let template = PromiseTemplate {
        id: Text::from(create.promise_id),
        param: values::stored(create.promise_param.unwrap_or_default().0)?,
        tags,
        timeout: Millis(create.promise_timeout),
    };
    let cron = Text::from(create.cron);
    let new = NewSchedule::plain(id, cron, template, Overlap::Allow);
    match front.decide(Command::ScheduleCreate(new)).await? {
        Reply::Schedule { schedule, .. } => {
            Ok(ResonateAnswer::ok(json!({ "schedule": record(&schedule) })))
        }
        other => Err(unexpected(&other)),
    }
}

pub(super) async fn get(front: &Resonate, request: &ResonateRequest) -> OperationResult {
    let ScheduleIdData { id } = request.read()?;
    let id = schedule_id(request, id)?;
    match front.host.store.read().schedule(&id).await? {
        Some(schedule) => Ok(ResonateAnswer::ok(json!({ "schedule": record(&schedule) }))),
        None => Err(ProtocolError::unknown(format!("there is no schedule `{id}`"))),
    }
}

pub(super) async fn delete(front: &Resonate, request: &ResonateRequest) -> OperationResult {
    let ScheduleIdData { id } = request.read()?;
    match front.decide(Command::ScheduleDelete { id: schedule_id(request, id)? }).await? {
        Reply::Done => Ok(ResonateAnswer::ok(json!({}))),
        other => Err(unexpected(&other)),
    }
}

pub(super) async fn search(front: &Resonate, request: &ResonateRequest) -> OperationResult {
    request.may_all()?;
    let ScheduleSearchData { tags, limit, cursor } = request.read()?;
    let limit = limit.unwrap_or(DEFAULT);
    if !(1..=MOST).contains(&limit) {
        return Err(ProtocolError::bad(format!("`limit` must be between 1 and {MOST}")));
    }
    let tags = values::stored_tags(tags.unwrap_or_default());
    let after = cursor.map(ScheduleId::new);
    let filter = ScheduleFilter { tags, after, limit, ..ScheduleFilter::default() };
    let page = front.api.look().await?.read().schedules(&filter).await?;
    let mut data = json!({ "schedules": page.items.iter().map(record).collect::<Vec<_>>() });
    if let Some(next) = page.next {
        data["cursor"] = Json::String(next.to_string());
    }
    Ok(ResonateAnswer::ok(data))
}

fn schedule_id(request: &ResonateRequest, id: String) -> Result<ScheduleId, ProtocolError> {
    Ok(ScheduleId::new(request.id("id", id)?.as_str()))
}

fn record(schedule: &Schedule) -> Json {
    let template = &schedule.template;
    let mut record = json!({
        "id": schedule.id.as_str(),
        "cron": schedule.cron.as_str(),
        "promiseId": template.id.as_str(),
        "promiseTimeout": template.timeout.0,
        "promiseParam": values::sent(&template.param),
        "promiseTags": values::sent_tags(&template.tags),
        "createdAt": schedule.created_at.0,
        "nextRunAt": schedule.next_at.0,
    });
    if let Some(last_at) = schedule.last_at {
        record["lastRunAt"] = json!(last_at.0);
    }
    record
}
