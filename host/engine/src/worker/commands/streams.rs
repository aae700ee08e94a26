//! Streams of the invocation. An append is stored with its record, and no event completes it.

use segno_core::{
    command::FenceOperation,
    id::PromiseId,
    invocation::CommandKind,
    stream::{StreamItem, StreamItems},
    value::Text,
};
use segno_guest::{
    JournalAnswer, StopReason,
    commands::{AppendStreamCommand, CloseStreamCommand},
};

use super::{CommandContext, CommandFields, CommandRules, CompletionEvent};
use crate::values::journals;

impl CommandRules for AppendStreamCommand {
    fn kind(&self) -> CommandKind {
        CommandKind::AppendStream
    }

    fn name(&self) -> Text {
        Text::from(self.name.as_str())
    }

    fn fields(&self, fields: &mut CommandFields) {
        fields.text("content-type", self.content_type.as_str());
        fields.payload("item", &self.item);
    }

    fn completion(&self, _: &CommandContext<'_>) -> CompletionEvent {
        CompletionEvent::Record
    }

    fn act(&self, _: &CommandContext<'_>) -> Result<Option<FenceOperation>, StopReason> {
        let item = journals::payload(&self.item);
        let items = StreamItems::of_payload(&self.content_type, &item).map_err(|refused| {
            StopReason::Contract(format!("the item of the stream `{}`: {refused}", self.name))
        })?;
        Ok(Some(FenceOperation::Stream(StreamItem {
            name: self.name(),
            content_type: Text::from(self.content_type.as_str()),
            items,
            closes: false,
        })))
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> JournalAnswer {
        JournalAnswer::Command(index)
    }
}

impl CommandRules for CloseStreamCommand {
    fn kind(&self) -> CommandKind {
        CommandKind::CloseStream
    }

    fn name(&self) -> Text {
        Text::from(self.name.as_str())
    }

    fn fields(&self, fields: &mut CommandFields) {
        fields.text("content-type", self.content_type.as_str());
    }

    fn completion(&self, _: &CommandContext<'_>) -> CompletionEvent {
        CompletionEvent::Record
    }

    fn act(&self, _: &CommandContext<'_>) -> Result<Option<FenceOperation>, StopReason> {
        Ok(Some(FenceOperation::Stream(StreamItem {
            name: self.name(),
            content_type: Text::from(self.content_type.as_str()),
            items: StreamItems::default(),
            closes: true,
        })))
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> JournalAnswer {
        JournalAnswer::Command(index)
    }
}
