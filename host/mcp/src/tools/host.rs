//! The state of the host.

use schemars::JsonSchema;
use segno_client::without_missing;
use segno_model::InvocationQuery;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    access::{HostAccess, WritePermission},
    answer::{ToolAnswer, not_listed},
    failure::ToolFailure,
    tool::{HostTool, ToolEffect},
};

/// Arguments of `host_status`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct HostStatus {}

/// State of a host.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HostStatusOutput {
    /// Address of the host.
    server: String,
    /// Version of the host.
    version: String,
    /// True if the host takes work.
    ready: bool,
    /// The reason why it takes no work.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// Numbers of the newest 10,000 executions by state.
    executions: std::collections::BTreeMap<String, u64>,
    /// Number of modules with a name.
    modules: usize,
    /// True if this server may change the host.
    writes_allowed: bool,
}

impl HostTool for HostStatus {
    type Output = HostStatusOutput;
    const NAME: &'static str = "host_status";
    const TITLE: &'static str = "Host status";
    const ABOUT: &'static str = "Address, version and readiness of the Segno host, and its executions by state. A good first call.";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    async fn call(self, access: &HostAccess) -> Result<ToolAnswer<HostStatusOutput>, ToolFailure> {
        let client = &access.client;
        let health = client.health().await?;
        let ready = client.ready().await;
        let query = InvocationQuery { counts: Some(true), limit: Some(1), ..Default::default() };
        let ask = |partial| {
            let query = InvocationQuery { partial, ..query.clone() };
            async move { client.list(&query).await }
        };
        let page = without_missing(ask).await?;
        let counts = page.counts.unwrap_or_default();
        let modules = client.modules().await?.modules;
        let modules = modules.iter().filter(|module| !module.aliases.is_empty()).count();
        let states: Vec<String> =
            counts.states.iter().map(|(state, count)| format!("{count} {state}")).collect();
        let problem = ready.err().map(|error| error.to_string());
        let state =
            problem.as_deref().map_or("ready".to_owned(), |why| format!("not ready: {why}"));
        let text = format!(
            "segno {} at {}, {state}; executions: {}; modules: {modules}",
            health.version,
            client.server(),
            if states.is_empty() { "none".to_owned() } else { states.join(", ") },
        ) + &not_listed(&page.missing);
        let output = HostStatusOutput {
            server: client.server(),
            version: health.version,
            ready: problem.is_none(),
            problem,
            executions: counts.states,
            modules,
            writes_allowed: access.permission == WritePermission::Allowed,
        };
        Ok(ToolAnswer::new(text, output)
            .then("list_executions", json!({"stuck": true}), "executions that need a person")
            .then("list_inbox", json!({}), "promises and signals that are waited for")
            .then("list_modules", json!({}), "what can be started"))
    }
}
