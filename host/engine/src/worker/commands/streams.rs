//! Streams of the invocation. An append is stored with its record, and no event completes it.

use segno_core::{
    command::FenceOperation,
    id::PromiseId,
    invocation::CommandKind,
    stream::{ItemsError, StreamItem, StreamItems},
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
        let item = appended(self).map_err(|refused| {
            StopReason::Contract(format!("the item of the stream `{}`: {refused}", self.name))
        })?;
        Ok(Some(FenceOperation::Stream(item)))
    }

    fn stream_item(&self) -> Option<StreamItem> {
        appended(self).ok()
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> JournalAnswer {
        JournalAnswer::Command(index)
    }
}

fn appended(append: &AppendStreamCommand) -> Result<StreamItem, ItemsError> {
    let item = journals::payload(&append.item);
    Ok(StreamItem {
        name: append.name(),
        content_type: Text::from(append.content_type.as_str()),
        items: StreamItems::of_payload(&append.content_type, &item)?,
        closes: false,
    })
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
