//! `http`: a request that the host sends, as a built-in activity.

use segno_core::{command::FenceAct, id::PromiseId, invocation::CommandKind, value::Text};
use segno_guest::{Answer, Stop, commands::Http};
use serde_json::json;

use super::{
    Completion, Fields, Rules,
    call::{callee, headers},
    site::Site,
};
use crate::{target::HTTP, values};

impl Rules for Http {
    fn kind(&self) -> CommandKind {
        CommandKind::Http
    }

    fn name(&self) -> Text {
        Text::from(format!("{} {}", self.request.method, self.request.url))
    }

    fn fields(&self, fields: &mut Fields) {
        if !self.request.headers.is_empty() {
            fields.json("headers", &json!(self.request.headers));
        }
        if let Some(body) = &self.request.body {
            fields.payload("body", body);
        }
        fields.options(&self.options);
    }

    fn completion(&self, site: &Site<'_>) -> Completion {
        Completion::Promise(site.promise())
    }

    fn act(&self, site: &Site<'_>) -> Result<Option<FenceAct>, Stop> {
        let param = values::request_param(&self.request, headers(site.identity, HTTP));
        Ok(Some(FenceAct::Create { new: callee(site, HTTP, param, &self.options) }))
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> Answer {
        Answer::Command(index)
    }
}
