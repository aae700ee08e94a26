//! `sleep-until`: a promise that resolves at its deadline.

use segno_core::{
    command::FenceOperation,
    id::PromiseId,
    invocation::CommandKind,
    promise::NewPromise,
    tags,
    time::Timestamp,
    value::{Tags, Text, Value},
};
use segno_guest::{JournalAnswer, StopReason, commands::SleepCommand};

use super::{
    CommandFields, CommandRules, CompletionEvent,
    site::{CommandContext, instant},
};

impl CommandRules for SleepCommand {
    fn kind(&self) -> CommandKind {
        CommandKind::Sleep
    }

    fn name(&self) -> Text {
        Text::default()
    }

    fn fields(&self, fields: &mut CommandFields) {
        fields.number("until_ms", self.until_ms);
    }

    fn completion(&self, site: &CommandContext<'_>) -> CompletionEvent {
        CompletionEvent::Timer(site.promise(), instant(self.until_ms))
    }

    fn act(&self, site: &CommandContext<'_>) -> Result<Option<FenceOperation>, StopReason> {
        Ok(Some(FenceOperation::Create {
            new: NewPromise {
                id: site.promise(),
                param: Value::default(),
                tags: Tags::from([(tags::TIMER.into(), "true".into())]),
                timeout_at: instant(self.until_ms).min(Timestamp::NEVER),
            },
            request: None,
        }))
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> JournalAnswer {
        JournalAnswer::Command(index)
    }
}
