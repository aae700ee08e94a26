//! The stage of a scene: a client of a runtime that records its requests and the answers.

use std::sync::Mutex;

use reqwest::Method;
use segno_core::time::Millis;
use segno_env::Env;
use serde_json::Value;

use super::{
    tool::Tool,
    transcript::{Transcript, canonical},
};

/// Time limit of every wait.
const LIMIT: Millis = Millis(15_000);
/// Time limit of every wait while processes are killed.
const PATIENT_LIMIT: Millis = Millis(120_000);

/// URLs of a runtime.
#[derive(Debug, Clone)]
pub struct Runtime {
    /// URL of the ingress.
    pub ingress: String,
    /// URL of the admin API.
    pub admin: String,
}

/// A stage for one scene.
pub struct Stage {
    runtime: Runtime,
    service: String,
    others: String,
    tool: Option<Tool>,
    client: reqwest::Client,
    env: Env,
    limit: Millis,
    transcript: Mutex<Transcript>,
}

/// A request to the runtime.
#[derive(Debug, Clone)]
pub struct Request {
    side: Side,
    method: Method,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
enum Side {
    Ingress,
    Admin,
}

/// Answer to a request.
#[derive(Debug, Clone)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Runtime {
    /// A runtime that listens at these addresses.
    pub fn at(ingress: &str, admin: &str) -> Self {
        Self { ingress: format!("http://{ingress}"), admin: format!("http://{admin}") }
    }
}

impl Request {
    /// Creates a request to the ingress.
    pub fn ingress(method: Method, path: &str) -> Self {
        let path = path.to_owned();
        Self { side: Side::Ingress, method, path, headers: Vec::new(), body: Vec::new() }
    }

    /// Creates a request to the admin API.
    pub fn admin(method: Method, path: &str) -> Self {
        Self { side: Side::Admin, ..Self::ingress(method, path) }
    }

    /// Creates a `POST` to the ingress, with a JSON document.
    pub fn call(path: &str, body: Value) -> Self {
        Self::ingress(Method::POST, path).json(body)
    }

    /// Creates an SQL query, with rows as JSON.
    pub fn query(sql: &str) -> Self {
        let request = Self::admin(Method::POST, "/query");
        request.header("accept", "application/json").json(serde_json::json!({ "query": sql }))
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets a JSON document as the body.
    pub fn json(self, body: Value) -> Self {
        self.header("content-type", "application/json").bytes(body.to_string().into_bytes())
    }

    /// Sets the body.
    pub fn bytes(mut self, body: Vec<u8>) -> Self {
        self.body = body;
        self
    }

    fn line(&self) -> String {
        let side = match self.side {
            Side::Ingress => "",
            Side::Admin => "admin ",
        };
        format!("{side}{} {}", self.method, self.path)
    }
}

impl Answer {
    /// Value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(named, _)| named == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON. `null` if it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Status and body, in the canonical form of transcripts.
    pub fn brief(&self) -> String {
        let body = match serde_json::from_slice(&self.body) {
            Ok(document) => canonical(document).to_string(),
            Err(_) => String::from_utf8_lossy(&self.body).into_owned(),
        };
        format!("{} {body}", self.status)
    }

    /// Text of a field in the body.
    ///
    /// # Panics
    /// If the field is missing or not a text.
    pub fn field(&self, name: &str) -> String {
        let document = self.json();
        let field = document[name].as_str();
        field.unwrap_or_else(|| panic!("no {name} in {} {document}", self.status)).to_owned()
    }

    /// Id of the invocation that answered.
    ///
    /// # Panics
    /// If no invocation did.
    pub fn id(&self) -> String {
        self.header("x-restate-id").expect("the header with the id").to_owned()
    }
}

impl Stage {
    /// Creates a stage at `runtime`, for the services at the URL `service`.
    pub fn new(runtime: &Runtime, service: &str) -> Self {
        let mut transcript = Transcript::default();
        transcript.name(&runtime.ingress, "ingress");
        transcript.name(&runtime.admin, "admin");
        transcript.name(service, "service");
        Self {
            runtime: runtime.clone(),
            service: service.to_owned(),
            others: String::new(),
            tool: None,
            client: reqwest::Client::new(),
            env: Env::system(),
            limit: LIMIT,
            transcript: Mutex::new(transcript),
        }
    }

    /// Adds the manifests at the URL `others`.
    pub fn with_others(mut self, others: &str) -> Self {
        self.name(others, "others");
        self.others = others.to_owned();
        self
    }

    /// Adds the released command.
    pub fn with_tool(self, tool: Tool) -> Self {
        Self { tool: Some(tool), ..self }
    }

    /// Raises the time limit, for work that is disturbed.
    pub fn patient(self) -> Self {
        Self { limit: PATIENT_LIMIT, ..self }
    }

    /// URL of the manifests without services.
    pub fn others(&self) -> &str {
        &self.others
    }

    /// URL of the services.
    pub fn service(&self) -> &str {
        &self.service
    }

    /// Transcript so far.
    pub fn transcript(&self) -> String {
        self.written(|transcript| transcript.text().to_owned())
    }

    /// Sends a request, and records it.
    ///
    /// # Panics
    /// If there is no answer.
    pub async fn say(&self, request: Request) -> Answer {
        let answer = self.ask(&request).await;
        self.write(&request, &answer);
        answer
    }

    /// Calls a handler with a JSON document, and records it.
    ///
    /// # Panics
    /// If there is no answer.
    pub async fn call(&self, path: &str, body: Value) -> Answer {
        self.say(Request::call(path, body)).await
    }

    /// Does the same without a body.
    ///
    /// # Panics
    /// If there is no answer.
    pub async fn get(&self, path: &str) -> Answer {
        self.say(Request::ingress(Method::GET, path)).await
    }

    /// Reads from the admin API, and records it.
    ///
    /// # Panics
    /// If there is no answer.
    pub async fn look(&self, path: &str) -> Answer {
        self.say(Request::admin(Method::GET, path)).await
    }

    /// Does the same, and records the names of handlers instead of their descriptions.
    ///
    /// # Panics
    /// If there is no answer.
    pub async fn glance(&self, path: &str) -> Answer {
        self.briefly(Request::admin(Method::GET, path)).await
    }

    /// Changes something by the admin API, and records it, with the names of handlers instead of
    /// their descriptions.
    ///
    /// # Panics
    /// If there is no answer.
    pub async fn manage(&self, method: Method, path: &str, body: Value) -> Answer {
        let request = Request::admin(method, path);
        self.briefly(if body.is_null() { request } else { request.json(body) }).await
    }

    async fn briefly(&self, request: Request) -> Answer {
        let answer = self.ask(&request).await;
        let mut brief = answer.clone();
        if let Ok(document) = serde_json::from_slice(&answer.body) {
            brief.body = without_descriptions(document).to_string().into_bytes();
        }
        self.write(&request, &brief);
        answer
    }

    /// Runs an SQL query, and records its rows in the order that the query demands.
    ///
    /// # Panics
    /// If there is no answer.
    pub async fn query(&self, sql: &str) -> Answer {
        self.say(Request::query(sql)).await
    }

    /// Runs the released command, and records its output.
    ///
    /// # Panics
    /// If the stage has no command.
    pub async fn run(&self, arguments: &[&str]) -> String {
        let tool = self.tool.as_ref().expect("a stage with the command");
        let printed = self.env.within(self.limit, tool.run(&self.runtime, arguments)).await;
        let printed = printed.unwrap_or_else(|| panic!("{arguments:?}: no end in time"));
        self.written(|transcript| transcript.printed(&arguments.join(" "), &printed));
        printed
    }

    /// Does the same, but sorts the lines and the items of lists alphabetically, because their
    /// order has no meaning.
    ///
    /// # Panics
    /// If the stage has no command.
    pub async fn run_sorted(&self, arguments: &[&str]) {
        let tool = self.tool.as_ref().expect("a stage with the command");
        let printed = self.env.within(self.limit, tool.run(&self.runtime, arguments)).await;
        let printed = printed.unwrap_or_else(|| panic!("{arguments:?}: no end in time"));
        let items = printed.lines().flat_map(|line| match line.rsplit_once(" - ") {
            Some((before, item)) if item.ends_with(']') => vec![before, item],
            _ => vec![line.trim_start_matches("- ")],
        });
        let mut lines: Vec<_> = items.filter(|line| !line.is_empty()).collect();
        lines.sort_unstable();
        self.written(|transcript| transcript.printed(&arguments.join(" "), &lines.join("\n")));
    }

    /// Repeats a request until the answer is as expected, and records the last exchange.
    ///
    /// # Panics
    /// If no such answer comes within the limit.
    pub async fn until(&self, request: Request, expected: impl Fn(&Answer) -> bool) -> Answer {
        let answer = self.quietly_until(&request, expected).await;
        self.write(&request, &answer);
        answer
    }

    /// Does the same without recording.
    ///
    /// # Panics
    /// If no such answer comes within the limit.
    pub async fn quietly_until(
        &self,
        request: &Request,
        expected: impl Fn(&Answer) -> bool,
    ) -> Answer {
        let mut last = None;
        let asked = self.env.within(self.limit, async {
            loop {
                let answer = self.attempt(request).await;
                if let Ok(answer) = answer.as_ref()
                    && expected(answer)
                {
                    return answer.clone();
                }
                last = Some(answer);
                self.pause(20).await;
            }
        });
        match asked.await {
            Some(answer) => answer,
            None => panic!("{}: never as expected, but {}", request.line(), shown(last)),
        }
    }

    /// Waits until an invocation has the status, according to the table of invocations.
    ///
    /// # Panics
    /// If it does not get there within the limit.
    pub async fn has_status(&self, id: &str, status: &str) {
        self.has_one_of(id, &[status]).await;
    }

    /// Waits until an invocation has begun. The runtime may have suspended it since.
    ///
    /// # Panics
    /// If it does not begin within the limit.
    pub async fn is_under_way(&self, id: &str) {
        self.has_one_of(id, &["running", "suspended"]).await;
    }

    async fn has_one_of(&self, id: &str, statuses: &[&str]) {
        let sql = format!("SELECT status FROM sys_invocation WHERE id = '{id}'");
        let has = |answer: &Answer| {
            let answer = answer.json();
            answer["rows"][0]["status"].as_str().is_some_and(|status| statuses.contains(&status))
        };
        self.quietly_until(&Request::query(&sql), has).await;
    }

    /// Waits until a cell has a value under `name`. Returns the value.
    ///
    /// # Panics
    /// If there is none within the limit.
    pub async fn kept(&self, cell: &str, name: &str) -> Value {
        let request = Request::call(&format!("/Cell/{cell}/get"), name.into());
        let answer = self.quietly_until(&request, |answer| !answer.json().is_null()).await;
        answer.json()
    }

    /// Waits until a handler called `name` waits for an awakeable. Returns the awakeable's id.
    ///
    /// # Panics
    /// If it waits for none within the limit.
    pub async fn awakeable(&self, name: &str) -> String {
        self.kept(name, "awakeable").await.as_str().expect("an id is text").to_owned()
    }

    /// Sends a request without recording it.
    ///
    /// # Panics
    /// If there is no answer.
    pub async fn ask(&self, request: &Request) -> Answer {
        let asked = self.env.within(self.limit, self.attempt(request)).await;
        let answer = asked.unwrap_or_else(|| panic!("{}: no answer in time", request.line()));
        answer.unwrap_or_else(|error| panic!("{}: {error}", request.line()))
    }

    /// Repeats a request until the runtime answers. The runtime may be killed at any time, so
    /// `request` must be idempotent.
    ///
    /// # Panics
    /// If there is no answer within the limit.
    pub async fn insist(&self, request: &Request) -> Answer {
        self.quietly_until(request, |answer| answer.status < 502).await
    }

    /// Records a remark.
    pub fn remark(&self, text: &str) {
        self.written(|transcript| transcript.remark(text));
    }

    /// Records an exchange.
    pub fn write(&self, request: &Request, answer: &Answer) {
        self.written(|transcript| {
            transcript.request(&request.line(), &request.headers, &request.body);
            transcript.answer(answer.status, &answer.headers, &answer.body);
        });
    }

    /// Waits for `ms` milliseconds.
    pub async fn pause(&self, ms: i64) {
        self.env.runtime.sleep(Millis(ms)).await;
    }

    /// Replaces `word` by `name` in the transcript.
    pub fn name(&self, word: &str, name: &str) {
        self.written(|transcript| transcript.name(word, name));
    }

    async fn attempt(&self, request: &Request) -> Result<Answer, reqwest::Error> {
        let base = match request.side {
            Side::Ingress => &self.runtime.ingress,
            Side::Admin => &self.runtime.admin,
        };
        let url = format!("{base}{}", request.path);
        let mut asked = self.client.request(request.method.clone(), url);
        for (name, value) in &request.headers {
            asked = asked.header(name, value);
        }
        let answered = asked.body(request.body.clone()).send().await?;
        let status = answered.status().as_u16();
        let header =
            |(name, value): (&reqwest::header::HeaderName, &reqwest::header::HeaderValue)| {
                (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
            };
        let headers = answered.headers().iter().map(header).collect();
        Ok(Answer { status, headers, body: answered.bytes().await?.to_vec() })
    }

    fn written<T>(&self, write: impl FnOnce(&mut Transcript) -> T) -> T {
        write(&mut self.transcript.lock().expect("nobody panics while writing"))
    }
}

fn without_descriptions(document: Value) -> Value {
    match document {
        Value::Object(members) => {
            let members = members.into_iter().map(|(name, value)| match (name.as_str(), value) {
                ("handlers", Value::Array(handlers)) => {
                    let mut names: Vec<_> =
                        handlers.iter().map(|handler| handler["name"].clone()).collect();
                    names.sort_by_key(ToString::to_string);
                    (name, Value::Array(names))
                }
                (_, value) => (name, without_descriptions(value)),
            });
            Value::Object(members.collect())
        }
        Value::Array(values) => values.into_iter().map(without_descriptions).collect(),
        other => other,
    }
}

fn shown(last: Option<Result<Answer, reqwest::Error>>) -> String {
    match last {
        None => "no answer".to_owned(),
        Some(Ok(answer)) => format!("{} {}", answer.status, String::from_utf8_lossy(&answer.body)),
        Some(Err(error)) => format!("{error:?}"),
    }
}
