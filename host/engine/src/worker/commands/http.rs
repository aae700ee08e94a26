//! `http`: a request that the host sends, as a built-in activity.

use segno_core::{command::FenceOperation, id::PromiseId, invocation::CommandKind, value::Text};
use segno_guest::{JournalAnswer, StopReason, commands::HttpCommand};
use serde_json::json;

use super::{
    CommandFields, CommandRules, CompletionEvent,
    call::{callee, headers},
    site::CommandContext,
};
use crate::{target::HTTP, values};

impl CommandRules for HttpCommand {
    fn kind(&self) -> CommandKind {
        CommandKind::Http
    }

    fn name(&self) -> Text {
        Text::from(format!("{} {}", self.request.method, self.request.url))
    }

    fn fields(&self, fields: &mut CommandFields) {
        if !self.request.headers.is_empty() {
            fields.json("headers", &json!(self.request.headers));
        }
        if let Some(body) = &self.request.body {
            fields.payload("body", body);
        }
        fields.options(&self.options);
    }

    fn completion(&self, site: &CommandContext<'_>) -> CompletionEvent {
        CompletionEvent::Promise(site.promise())
    }

    fn act(&self, site: &CommandContext<'_>) -> Result<Option<FenceOperation>, StopReason> {
        let param = values::request_param(&self.request, headers(site.identity, HTTP));
        Ok(Some(FenceOperation::Create {
            new: callee(site, HTTP, param, &self.options),
            request: None,
        }))
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> JournalAnswer {
        JournalAnswer::Command(index)
    }
}
