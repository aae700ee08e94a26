//! Requests about schedules.

use reqwest::Method;
use segno_model::{
    Accepted, Backfill, Backfilled, CreateSchedule, ScheduleCreated, ScheduleList, ScheduleQuery,
    ScheduleView, Trigger, Triggered,
};

use super::{Client, ClientError};

impl Client {
    /// Creates a schedule, or finds the one with the same id.
    pub async fn create_schedule(
        &self,
        schedule: &CreateSchedule,
    ) -> Result<ScheduleCreated, ClientError> {
        self.post(&["v1", "schedules"], schedule).await
    }

    /// Lists a page of schedules, by id.
    pub async fn schedules(&self, query: &ScheduleQuery) -> Result<ScheduleList, ClientError> {
        self.get(&["v1", "schedules"], query).await
    }

    /// Reads a schedule.
    pub async fn schedule(&self, id: &str) -> Result<ScheduleView, ClientError> {
        self.get(&["v1", "schedules", id], &()).await
    }

    /// Removes a schedule; its invocations remain.
    pub async fn delete_schedule(&self, id: &str) -> Result<Accepted, ClientError> {
        self.read(self.request(Method::DELETE, &["v1", "schedules", id])).await
    }

    /// Pauses or resumes a schedule.
    pub async fn pause_schedule(
        &self,
        id: &str,
        paused: bool,
    ) -> Result<ScheduleView, ClientError> {
        let action = if paused { "pause" } else { "resume" };
        self.post(&["v1", "schedules", id, action], &serde_json::json!({})).await
    }

    /// Starts an invocation of a schedule now, even if the schedule is paused.
    pub async fn trigger(&self, id: &str, trigger: &Trigger) -> Result<Triggered, ClientError> {
        self.post(&["v1", "schedules", id, "trigger"], trigger).await
    }

    /// Starts the missed occurrences of a schedule in a past interval, at most the first 100.
    pub async fn backfill(&self, id: &str, range: &Backfill) -> Result<Backfilled, ClientError> {
        self.post(&["v1", "schedules", id, "backfill"], range).await
    }
}
