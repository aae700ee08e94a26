//! Schedules, from the client's side.

use reqwest::Method;

use segno_model::{
    Accepted, Backfill, Backfilled, CreateSchedule, ScheduleCreated, ScheduleList, ScheduleQuery,
    ScheduleView,
};

use super::{Client, ClientError};

impl Client {
    /// Makes a schedule, or finds the one with its id.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn create_schedule(
        &self,
        schedule: &CreateSchedule,
    ) -> Result<ScheduleCreated, ClientError> {
        self.post(&["v1", "schedules"], schedule).await
    }

    /// A page of schedules, by id.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn schedules(&self, query: &ScheduleQuery) -> Result<ScheduleList, ClientError> {
        self.get(&["v1", "schedules"], query).await
    }

    /// One schedule.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn schedule(&self, id: &str) -> Result<ScheduleView, ClientError> {
        self.get(&["v1", "schedules", id], &()).await
    }

    /// Removes a schedule; what it started stays.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn delete_schedule(&self, id: &str) -> Result<Accepted, ClientError> {
        self.read(self.request(Method::DELETE, &["v1", "schedules", id])).await
    }

    /// Stops a schedule, or lets it go on.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn pause_schedule(
        &self,
        id: &str,
        paused: bool,
    ) -> Result<ScheduleView, ClientError> {
        let action = if paused { "pause" } else { "resume" };
        self.post(&["v1", "schedules", id, action], &serde_json::json!({})).await
    }

    /// Starts what a schedule would have started in a part of the past: the first hundred occurrences of it.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn backfill(&self, id: &str, range: &Backfill) -> Result<Backfilled, ClientError> {
        self.post(&["v1", "schedules", id, "backfill"], range).await
    }
}
