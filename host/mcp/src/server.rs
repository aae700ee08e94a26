//! The server: requests of the protocol, answered by tools, resources and prompts.

use std::{collections::BTreeMap, sync::Arc};

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, CancelledNotificationParam,
        ContentBlock, GetPromptRequestParams, GetPromptResponse, Implementation, ListPromptsResult,
        ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
        ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig, Tool,
    },
    service::{NotificationContext, RequestContext},
};
use segno_client::Client;
use segno_env::Env;
use serde_json::{Number, json};

use super::{
    access::{HostAccess, SegnoCommand, WritePermission},
    exposed::{self, ExposedCall, ExposedFunction, ExposedPattern, RunningCalls},
    prompts, resources,
    tool::ToolEntry,
    tools,
};

const INSTRUCTIONS: &str = "Tools for a Segno host, a durable workflow runtime. An execution (invocation) is one run of a workflow or activity, with a journal. To find out about a problem: list_executions with stuck or error, then why_execution, journal, logs, replay_execution. Every answer ends with useful next calls. To write workflows: the prompt write_workflow, search_docs and read_doc. Ask the person before you settle, signal, cancel, continue or restart.";

/// Settings of a server.
#[derive(Debug, Clone)]
pub struct McpOptions {
    /// The permission to change the host.
    pub permission: WritePermission,
    /// Functions that are tools.
    pub exposed: Vec<ExposedPattern>,
    /// Budget of each call of such a function: limits by unit. Empty if it has none of its own.
    pub budget: BTreeMap<String, Number>,
}

/// A server for one session.
#[derive(Clone)]
pub struct McpServer {
    access: HostAccess,
    exposed: Arc<[ExposedPattern]>,
    budget: Arc<BTreeMap<String, Number>>,
    running: Arc<RunningCalls>,
}

impl McpServer {
    /// Creates a server for the host of `client`. `command` runs what needs the engine on this
    /// machine.
    pub fn new(
        client: Client,
        env: Env,
        command: Arc<dyn SegnoCommand>,
        options: McpOptions,
    ) -> Self {
        let access = HostAccess { client, env, command, permission: options.permission };
        let McpOptions { exposed, budget, .. } = options;
        Self { access, exposed: exposed.into(), budget: budget.into(), running: Arc::default() }
    }

    /// A server for another session with the same host.
    pub fn session(&self) -> Self {
        Self { running: Arc::default(), ..self.clone() }
    }

    fn allows(&self, entry: &ToolEntry) -> bool {
        !entry.writes() || self.access.permission == WritePermission::Allowed
    }

    fn has_tool(&self, name: &str) -> bool {
        tools::named(name).is_some_and(|entry| self.allows(entry))
    }

    async fn call_own(
        &self,
        entry: &ToolEntry,
        request: CallToolRequestParams,
    ) -> Result<CallToolResult, ErrorData> {
        if !self.allows(entry) {
            return Ok(CallToolResult::error(vec![ContentBlock::text(format!(
                "error read-only: `{}` changes the host, and this server only reads. A person allows it by starting the server as `segno mcp --allow-writes`",
                entry.tool.name
            ))]));
        }
        let available = |tool: &str| self.has_tool(tool);
        let arguments = request.arguments.unwrap_or_default();
        let called = entry.call(arguments, &self.access, &available).await?;
        Ok(called.unwrap_or_else(|failure| failure.result(available)))
    }

    async fn call_exposed(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let available = |tool: &str| self.has_tool(tool);
        let functions = match exposed::functions(&self.access, &self.exposed).await {
            Ok(functions) => functions,
            Err(failure) => return Ok(failure.result(available)),
        };
        let Some(function) = functions.iter().find(|it| it.name == request.name) else {
            return Err(unknown_tool(&request.name));
        };
        let Self { access, budget, running, .. } = self;
        let call = ExposedCall { access, function, budget, running, context };
        let called = call.run(request.arguments.unwrap_or_default()).await?;
        Ok(called.unwrap_or_else(|failure| failure.result(available)))
    }

    /// The tools, also if the host is away; then without those of its functions.
    async fn tools(&self) -> Vec<Tool> {
        let own = tools::all().iter().filter(|entry| self.allows(entry));
        let own = own.map(|entry| entry.tool.clone());
        let functions = exposed::functions(&self.access, &self.exposed).await;
        let functions: Vec<ExposedFunction> = functions.unwrap_or_else(|failure| {
            tracing::warn!("the exposed functions are not known: {}", failure.message);
            Vec::new()
        });
        own.chain(exposed::tools(&functions)).collect()
    }
}

fn unknown_tool(name: &str) -> ErrorData {
    let message = format!("there is no tool `{name}`; tools/list has all");
    ErrorData::invalid_params(message, Some(json!({ "tool": name })))
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_prompts()
            .build();
        let server = Implementation::new("segno", env!("CARGO_PKG_VERSION")).with_title("Segno");
        ServerConfig::new(capabilities).with_server_info(server).with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools().await))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let result = match tools::named(&request.name) {
            Some(entry) => self.call_own(entry, request).await?,
            None if self.exposed.is_empty() => return Err(unknown_tool(&request.name)),
            None => self.call_exposed(request, &context).await?,
        };
        Ok(result.into())
    }

    async fn on_cancelled(
        &self,
        notification: CancelledNotificationParam,
        _context: NotificationContext<RoleServer>,
    ) {
        if let Some(request) = &notification.request_id {
            self.running.cancel(request);
        }
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(resources::list()))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        Ok(resources::read(&request.uri, &self.access).await?.into())
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts::list()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        Ok(prompts::get(&request.name, request.arguments)?.into())
    }
}
