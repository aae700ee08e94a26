//! `promise`: a promise that is settled from outside the invocation.

use segno_core::{
    command::FenceAct,
    id::PromiseId,
    invocation::CommandKind,
    promise::NewPromise as CorePromise,
    value::{Tags, Text, Value},
};
use segno_guest::{Answer, Stop, commands::NewPromise};

use super::{
    Completion, Fields, Rules,
    site::{Site, deadline},
};

impl Rules for NewPromise {
    fn kind(&self) -> CommandKind {
        CommandKind::Promise
    }

    fn name(&self) -> Text {
        self.name.as_deref().map(Text::from).unwrap_or_default()
    }

    fn fields(&self, fields: &mut Fields) {
        if let Some(timeout) = self.options.timeout_ms {
            fields.number("timeout_ms", timeout);
        }
    }

    fn completion(&self, site: &Site<'_>) -> Completion {
        Completion::Promise(id(self, site))
    }

    fn act(&self, site: &Site<'_>) -> Result<Option<FenceAct>, Stop> {
        Ok(Some(FenceAct::Create {
            new: CorePromise {
                id: id(self, site),
                param: Value::default(),
                tags: Tags::new(),
                timeout_at: deadline(self.options.timeout_ms, site.at),
            },
        }))
    }

    fn answer(&self, index: u32, promise: Option<&PromiseId>, _: bool) -> Answer {
        Answer::Promise(index, promise.map(|id| id.as_str().to_owned()).unwrap_or_default())
    }
}

fn id(promise: &NewPromise, site: &Site<'_>) -> PromiseId {
    match &promise.name {
        Some(name) => site.identity.id.named(name),
        None => site.promise(),
    }
}
