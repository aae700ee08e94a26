//! Schedules: a client creates one and deletes it later. Every occurrence until then must have been
//! created once, in order, by any host.

use segno_core::{
    command::Command,
    id::ScheduleId,
    promise::{NewSchedule, Overlap, PromiseTemplate},
    reply::Reply,
    tags,
    time::Millis,
    value::{Tags, Text},
};
use segno_engine::values;
use segno_guest::Payload;

use super::{occurrences::occurrences, outside::Outside};

impl Outside {
    /// Creates a schedule, and deletes it later.
    pub(super) async fn keep_timetable(&self, id: &str, overlap: Overlap, lasts: i64) {
        let function = "leaf";
        let target = format!("wasm://m/{function}");
        let template = PromiseTemplate {
            id: Text::from("{{.id}}@{{.timestamp}}"),
            param: values::param(function, &Payload::Json("1".into()), Tags::new()),
            tags: Tags::from([(tags::TARGET.to_owned(), target)]),
            timeout: Millis::seconds(100_000),
        };
        let (id, cron) = (ScheduleId::from(id), Text::from("*/2 * * * * *"));
        let new = NewSchedule::plain(id.clone(), cron, template, overlap);
        let made = self.clients.insist(Command::ScheduleCreate(new)).await;
        if !matches!(made, Reply::Schedule { .. }) {
            self.network.log.finding(format_args!("a schedule was answered {made:?}"));
        }
        self.sleep(lasts).await;
        // If the answer to an earlier attempt was lost, the schedule is already gone.
        self.clients.insist(Command::ScheduleDelete { id: id.clone() }).await;
        let rows = self.network.database.dump().await;
        occurrences(&rows, &id).for_each(|_| self.network.log.count("occurrences of schedules"));
    }
}
