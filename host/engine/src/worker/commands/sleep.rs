//! `sleep-until`: a promise that resolves at its deadline.

use segno_core::{
    command::FenceAct,
    id::PromiseId,
    invocation::CommandKind,
    promise::NewPromise,
    tags,
    time::Timestamp,
    value::{Tags, Text, Value},
};
use segno_guest::{Answer, Stop, commands::Sleep};

use super::{
    Completion, Fields, Rules,
    site::{Site, instant},
};

impl Rules for Sleep {
    fn kind(&self) -> CommandKind {
        CommandKind::Sleep
    }

    fn name(&self) -> Text {
        Text::default()
    }

    fn fields(&self, fields: &mut Fields) {
        fields.number("until_ms", self.until_ms);
    }

    fn completion(&self, site: &Site<'_>) -> Completion {
        Completion::Timer(site.promise(), instant(self.until_ms))
    }

    fn act(&self, site: &Site<'_>) -> Result<Option<FenceAct>, Stop> {
        Ok(Some(FenceAct::Create {
            new: NewPromise {
                id: site.promise(),
                param: Value::default(),
                tags: Tags::from([(tags::TIMER.into(), "true".into())]),
                timeout_at: instant(self.until_ms).min(Timestamp::NEVER),
            },
        }))
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> Answer {
        Answer::Command(index)
    }
}
