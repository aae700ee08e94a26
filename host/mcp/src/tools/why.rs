//! The reason why an execution does not continue.

use schemars::JsonSchema;
use segno_model::{Why, WhyLink, WhyReason};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    access::HostAccess,
    answer::{NextCall, ToolAnswer, id_argument, relative},
    excerpt::cut,
    failure::ToolFailure,
    tool::{HostTool, ToolEffect},
};

/// Arguments of `why_execution`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WhyExecution {
    /// Id of the execution.
    id: String,
}

/// The chain from an execution to the cause of its wait.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WhyOutput {
    /// The execution, what it waits for, and so on; the last one is the cause.
    chain: Vec<WhyStep>,
    /// A deadlock: each execution waits for the next, the last one for the first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    deadlock: Vec<String>,
    /// True if the chain is longer than shown.
    more: bool,
}

/// An execution of the chain.
#[derive(Debug, Serialize, JsonSchema)]
struct WhyStep {
    id: String,
    target: String,
    state: String,
    /// Why it does not continue, in one word.
    reason: String,
    /// The awaited promise, call or timer.
    #[serde(skip_serializing_if = "Option::is_none")]
    on: Option<String>,
    /// When it continues without further events.
    #[serde(skip_serializing_if = "Option::is_none")]
    until_at_ms: Option<i64>,
    /// Signals and promises that it accepts, each with the type of its value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    takes: Vec<String>,
    /// Its last error, or the reason of its halt.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// The place in its code where it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<Value>,
    /// Commands that resume it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    commands: Vec<String>,
}

impl From<WhyLink> for WhyStep {
    fn from(link: WhyLink) -> Self {
        let takes = link.takes.into_iter().map(|takes| {
            let value = takes.value.map(|value| format!(" ({value})"));
            format!("{} `{}`{}", takes.kind, takes.name, value.unwrap_or_default())
        });
        let frames = link.place.as_ref().map(|place| &place["frames"]);
        Self {
            id: link.id,
            target: link.target,
            state: link.state.to_string(),
            reason: json!(link.reason).as_str().unwrap_or_default().to_owned(),
            on: link.on,
            until_at_ms: link.until_at_ms,
            takes: takes.collect(),
            note: link.note.map(|note| cut(format!("{}: {}", note.kind, note.message), 1_000)),
            place: frames
                .filter(|frames| frames.as_array().is_some_and(|it| !it.is_empty()))
                .cloned(),
            commands: link.commands,
        }
    }
}

impl WhyStep {
    fn line(&self, now_ms: i64) -> String {
        let Self { id, state, reason, .. } = self;
        let on = self.on.as_ref().map(|on| format!(" on {on}")).unwrap_or_default();
        let until = self.until_at_ms.map(|at| format!(", {}", relative(at, now_ms)));
        let until = until.unwrap_or_default();
        let takes = match self.takes.as_slice() {
            [] => String::new(),
            takes => format!("; it takes {}", takes.join(", ")),
        };
        let note = self.note.as_ref().map(|note| format!("; {note}")).unwrap_or_default();
        format!("{id} is {state}: {reason}{on}{until}{takes}{note}")
    }
}

impl HostTool for WhyExecution {
    type Output = WhyOutput;
    const NAME: &'static str = "why_execution";
    const TITLE: &'static str = "Why an execution does not continue";
    const ABOUT: &'static str = "Follows what an execution waits for, through calls, turns and limits, to the one thing that has to happen, and says which message or command resumes it.";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    async fn call(self, access: &HostAccess) -> Result<ToolAnswer<WhyOutput>, ToolFailure> {
        let why = match access.client.why(&self.id).await {
            Ok(why) => why,
            Err(error) => return Err(access.failure(&self.id, error).await),
        };
        let next = why.chain.last().map(next_calls).unwrap_or_default();
        let Why { chain, cycle, more } = why;
        let output = WhyOutput {
            chain: chain.into_iter().map(WhyStep::from).collect(),
            deadlock: cycle,
            more,
        };
        let now = access.now_ms();
        let mut lines: Vec<String> = output.chain.iter().map(|step| step.line(now)).collect();
        if !output.deadlock.is_empty() {
            lines.push(format!("deadlock: {}; end one of them", output.deadlock.join(" → ")));
        }
        let commands = output.chain.last().map(|step| step.commands.as_slice()).unwrap_or_default();
        lines.extend(commands.iter().map(|command| format!("command: {command}")));
        Ok(ToolAnswer::new(lines.join("\n"), output).then_all(next))
    }
}

/// The calls that resume or explain the cause.
fn next_calls(cause: &WhyLink) -> Vec<NextCall> {
    let id = &cause.id;
    let call = |tool, why| NextCall::new(tool, id_argument(id), why);
    match cause.reason {
        WhyReason::Ended => vec![call("result", "its outcome")],
        WhyReason::Halted => vec![
            call("replay_execution", "if its code still repeats its journal"),
            call("logs", "what it logged"),
            call("continue_execution", "set it going again"),
        ],
        WhyReason::Promise | WhyReason::SagaStep => {
            let promise = cause.on.as_deref().unwrap_or(id);
            let arguments = json!({"id": promise, "value": null});
            vec![NextCall::new(
                "settle_promise",
                arguments,
                "settle it; ask the person for the value",
            )]
        }
        WhyReason::Signal => {
            let name = cause.takes.iter().find(|takes| takes.kind == "signal");
            let name = name.map_or("NAME", |takes| takes.name.as_str());
            let arguments = json!({"id": id, "name": name, "payload": null, "key": "1"});
            vec![NextCall::new("send_signal", arguments, "send it; ask the person for the payload")]
        }
        WhyReason::BackingOff | WhyReason::Running | WhyReason::Offered => {
            vec![call("logs", "what it logged"), call("journal", "what it did so far")]
        }
        WhyReason::ModuleMissing => {
            vec![NextCall::new("list_modules", json!({}), "the stored modules")]
        }
        WhyReason::Deadlocked
        | WhyReason::Limit
        | WhyReason::Turn
        | WhyReason::Delayed
        | WhyReason::Call
        | WhyReason::Timer
        | WhyReason::Nothing => vec![call("inspect_execution", "all about the cause")],
    }
}
