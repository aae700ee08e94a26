//! Requests about invocations.

use std::time::Duration;

use reqwest::Method;
use segno_model::{
    Accepted, BudgetView, ContinueInvocation, Continued, ForkInvocation, Forked, Invocation,
    InvocationOutcome, InvocationPage, InvocationQuery, JournalPage, JournalRecord, LogPage,
    MoveInvocation, Moved, QueryAnswer, RangeQuery, RemoveQuery, Removed, Replay, ReplayRequest,
    RerunPage, RerunRequest, RestartInvocation, SagaPage, SendQuery, SendSignal, SendUpdate,
    SetBudget, SignalAccepted, StartInvocation, Started, UpdateAnswer, WaitQuery, Why,
};

use super::{Client, ClientError};

impl Client {
    /// Starts an invocation, or finds the one with the same id. If it is unknown if the host
    /// processed the request, a start with an id can be sent again.
    pub async fn start(&self, start: &StartInvocation) -> Result<Started, ClientError> {
        let wait = Duration::from_millis(start.wait_ms.unwrap_or(0));
        let request = self.request(Method::POST, &["v1", "invocations"]).json(start);
        self.read(self.patient(request, wait)).await
    }

    /// Lists a page of invocations, newest first.
    pub async fn list(&self, query: &InvocationQuery) -> Result<InvocationPage, ClientError> {
        self.get(&["v1", "invocations"], query).await
    }

    /// Reads an invocation.
    pub async fn invocation(&self, id: &str) -> Result<Invocation, ClientError> {
        self.get(&["v1", "invocations", id], &()).await
    }

    /// Waits for the end of an invocation. Returns its current state when `limit` or the host's own
    /// limit has passed.
    pub async fn wait(&self, id: &str, limit: Duration) -> Result<InvocationOutcome, ClientError> {
        let timeout_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        let path = ["v1", "invocations", id, "wait"];
        let request =
            self.request_with(Method::GET, &path, &WaitQuery { timeout_ms: Some(timeout_ms) });
        self.read(self.patient(request, limit)).await
    }

    /// Reads the budgets that an invocation draws on, and those below it.
    pub async fn budget(&self, id: &str) -> Result<BudgetView, ClientError> {
        self.get(&["v1", "invocations", id, "budget"], &()).await
    }

    /// Sets limits of an invocation's budget.
    pub async fn set_budget(
        &self,
        id: &str,
        limits: &SetBudget,
    ) -> Result<BudgetView, ClientError> {
        let path = ["v1", "invocations", id, "budget"];
        self.read(self.request(Method::PUT, &path).json(limits)).await
    }

    /// Reads the sagas of an invocation.
    pub async fn sagas(&self, id: &str) -> Result<SagaPage, ClientError> {
        self.get(&["v1", "invocations", id, "sagas"], &()).await
    }

    /// Reads records of a journal.
    pub async fn journal(
        &self,
        id: &str,
        from: u32,
        limit: u32,
    ) -> Result<JournalPage, ClientError> {
        self.get(&["v1", "invocations", id, "journal"], &range(from, limit)).await
    }

    /// Reads a whole journal.
    pub async fn whole_journal(&self, id: &str) -> Result<Vec<JournalRecord>, ClientError> {
        let mut records = Vec::new();
        let mut next = Some(0);
        while let Some(from) = next {
            let page = self.journal(id, from, 1_000).await?;
            records.extend(page.records);
            next = page.next;
        }
        Ok(records)
    }

    /// Reads log lines.
    pub async fn logs(&self, id: &str, from: u32, limit: u32) -> Result<LogPage, ClientError> {
        self.get(&["v1", "invocations", id, "logs"], &range(from, limit)).await
    }

    /// Requests the cancellation of an invocation, which may then clean up.
    pub async fn cancel(&self, id: &str) -> Result<Accepted, ClientError> {
        self.post(&["v1", "invocations", id, "cancel"], &serde_json::json!({})).await
    }

    /// Kills an invocation: ends it immediately, without cleaning up.
    pub async fn kill(&self, id: &str) -> Result<Accepted, ClientError> {
        self.post(&["v1", "invocations", id, "kill"], &serde_json::json!({})).await
    }

    /// Continues a halted invocation, on another module if `module` is given.
    /// The host refuses a module that does not repeat the journal.
    pub async fn resume(&self, id: &str, module: Option<String>) -> Result<Continued, ClientError> {
        self.post(&["v1", "invocations", id, "continue"], &ContinueInvocation { module }).await
    }

    /// Starts a new invocation with the function, input and labels of this one.
    pub async fn restart(
        &self,
        id: &str,
        restart: &RestartInvocation,
    ) -> Result<Started, ClientError> {
        self.post(&["v1", "invocations", id, "restart"], restart).await
    }

    /// Starts a new invocation from the first records of this one's journal, or does a dry run of
    /// it.
    /// The host refuses if no fork is possible at that record, or if the
    /// module does not repeat the records.
    pub async fn fork(&self, id: &str, fork: &ForkInvocation) -> Result<Forked, ClientError> {
        self.post(&["v1", "invocations", id, "fork"], fork).await
    }

    /// Runs a page of recorded executions again in memory, with a change.
    pub async fn rerun(&self, request: &RerunRequest) -> Result<RerunPage, ClientError> {
        let sent = self.request(Method::POST, &["v1", "rerun"]).json(request);
        // A page ends early, but not within an execution.
        self.read(self.patient(sent, Duration::from_secs(300))).await
    }

    /// Removes an ended invocation and all its descendants.
    /// The refusal says why the invocation cannot be removed.
    pub async fn remove(&self, id: &str) -> Result<Removed, ClientError> {
        self.read(self.request(Method::DELETE, &["v1", "invocations", id])).await
    }

    /// Cancels an invocation and all its descendants, kills those that have not ended after
    /// `grace_ms` milliseconds, and removes all of them.
    pub async fn cancel_and_remove(&self, id: &str, grace_ms: u64) -> Result<Removed, ClientError> {
        let query = RemoveQuery { cancel: Some(true), grace_ms: Some(grace_ms) };
        let request = self.request_with(Method::DELETE, &["v1", "invocations", id], &query);
        self.read(self.patient(request, Duration::from_millis(grace_ms))).await
    }

    /// Removes the journal of an ended invocation.
    pub async fn remove_journal(&self, id: &str) -> Result<InvocationOutcome, ClientError> {
        self.read(self.request(Method::DELETE, &["v1", "invocations", id, "journal"])).await
    }

    /// Sends a signal.
    pub async fn signal(
        &self,
        id: &str,
        signal: &SendSignal,
    ) -> Result<SignalAccepted, ClientError> {
        self.post(&["v1", "invocations", id, "signals"], signal).await
    }

    /// Sends a query to a workflow and returns its answer.
    pub async fn query(
        &self,
        id: &str,
        name: &str,
        query: &SendQuery,
    ) -> Result<QueryAnswer, ClientError> {
        let path = ["v1", "invocations", id, "queries", name];
        // The host may have to replay a long journal first.
        let request = self.request(Method::POST, &path).json(query);
        self.read(self.patient(request, Duration::from_secs(300))).await
    }

    /// Sends an update to a workflow. The host waits up to [`SendUpdate::timeout_ms`].
    pub async fn update(
        &self,
        id: &str,
        name: &str,
        update: &SendUpdate,
    ) -> Result<UpdateAnswer, ClientError> {
        let path = ["v1", "invocations", id, "updates", name];
        let request = self.request(Method::POST, &path).json(update);
        let wait = Duration::from_millis(update.timeout_ms.unwrap_or(30_000));
        self.read(self.patient(request, wait + Duration::from_secs(300))).await
    }

    /// Reads why an invocation does not progress.
    pub async fn why(&self, id: &str) -> Result<Why, ClientError> {
        self.get(&["v1", "invocations", id, "why"], &()).await
    }

    /// Moves an invocation to a module (alias or digest) that repeats its journal.
    pub async fn relocate(&self, id: &str, module: &str) -> Result<Moved, ClientError> {
        let body = MoveInvocation { module: module.to_owned() };
        let request = self.request(Method::POST, &["v1", "invocations", id, "move"]).json(&body);
        self.read(self.patient(request, Duration::from_secs(300))).await
    }

    /// Replays an invocation's journal against a module, given by alias or digest. `None`: the
    /// module that wrote the journal.
    pub async fn replay(&self, id: &str, module: Option<&str>) -> Result<Replay, ClientError> {
        self.replay_to(id, module, None).await
    }

    /// Like [`replay`](Self::replay), for the first `at` records only; `None` replays all.
    pub async fn replay_to(
        &self,
        id: &str,
        module: Option<&str>,
        at: Option<u32>,
    ) -> Result<Replay, ClientError> {
        let body = ReplayRequest { module: module.map(str::to_owned), at };
        let request = self.request(Method::POST, &["v1", "invocations", id, "replay"]).json(&body);
        self.read(self.patient(request, Duration::from_secs(300))).await
    }
}

fn range(from: u32, limit: u32) -> RangeQuery {
    RangeQuery { from: Some(from), limit: Some(limit) }
}
