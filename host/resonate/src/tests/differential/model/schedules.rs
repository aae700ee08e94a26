//! Operations on schedules.

use segno_core::{
    command::Command,
    id::ScheduleId,
    promise::{NewSchedule, Overlap, PromiseTemplate, Schedule},
    reply::Reply,
    tags,
    time::{Millis, Timestamp},
    value::Text,
};
use serde_json::json;

use super::{
    HostModel, ModelAnswer, ModelRefusal, ModelSuccess,
    fields::{RequestFields, id},
    promises::is_target,
    wire,
};

pub(super) fn create(
    model: &mut HostModel,
    data: RequestFields<'_>,
    now: Timestamp,
) -> ModelAnswer {
    let (name, cron) = (data.text("id")?, data.text("cron")?);
    let (template, timeout) = (data.text("promiseId")?, data.number("promiseTimeout")?);
    let (tags, param) = (data.tags("promiseTags")?, data.value("promiseParam")?);
    let name = schedule_id(name)?;
    id("promiseId", template)?;
    if tags::target(&tags).is_some_and(|target| !is_target(target)) {
        return Err(ModelRefusal::bad("target", "is not an address"));
    }
    let template =
        PromiseTemplate { id: Text::from(template), param, tags, timeout: Millis(timeout) };
    let new = NewSchedule::plain(name, Text::from(cron), template, Overlap::Allow);
    match model.ask(&Command::ScheduleCreate(new), now)? {
        Reply::Schedule { schedule, created } => {
            Ok(shown(if created { "made" } else { "existed" }, &schedule))
        }
        other => panic!("{other:?}"),
    }
}

pub(super) fn get(model: &mut HostModel, data: RequestFields<'_>) -> ModelAnswer {
    let id = schedule_id(data.text("id")?)?;
    match model.state.schedule(&id) {
        Some(schedule) => Ok(shown("found", schedule)),
        None => Err(ModelRefusal {
            status: 404,
            why: "not-found",
            says: format!("there is no schedule `{id}`"),
        }),
    }
}

pub(super) fn delete(
    model: &mut HostModel,
    data: RequestFields<'_>,
    now: Timestamp,
) -> ModelAnswer {
    let id = schedule_id(data.text("id")?)?;
    model.ask(&Command::ScheduleDelete { id }, now)?;
    Ok(ModelSuccess::new("done", json!({})))
}

pub(super) fn search(model: &mut HostModel, data: RequestFields<'_>) -> ModelAnswer {
    let ((limit, after), tags) = (data.page(10)?, data.tags("tags")?);
    let after = after.map(ScheduleId::from);
    let found: Vec<&Schedule> = (model.state.schedules())
        .filter(|schedule| after.as_ref().is_none_or(|after| schedule.id > *after))
        .filter(|schedule| {
            tags.iter().all(|(name, value)| schedule.template.tags.get(name) == Some(value))
        })
        .collect();
    let page = found.len().min(limit);
    let records: Vec<_> = found[..page].iter().map(|schedule| wire::schedule(schedule)).collect();
    let mut data = json!({ "schedules": records });
    if found.len() > limit {
        data["cursor"] = json!(found[page - 1].id.as_str());
        return Ok(ModelSuccess::new("page", data));
    }
    Ok(ModelSuccess::new("last-page", data))
}

fn schedule_id(text: &str) -> Result<ScheduleId, ModelRefusal> {
    Ok(ScheduleId::new(id("id", text)?.as_str()))
}

fn shown(how: &'static str, schedule: &Schedule) -> ModelSuccess {
    ModelSuccess::new(how, json!({ "schedule": wire::schedule(schedule) }))
}
