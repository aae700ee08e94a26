//! Streams of the invocation and of its object. An append is stored with its record, and no event
//! completes it.

use segno_core::{
    command::FenceOperation,
    id::{ObjectId, PromiseId},
    invocation::CommandKind,
    stream::{ItemsError, OF_OBJECT, StreamItem, StreamItems},
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

    fn act(&self, site: &CommandContext<'_>) -> Result<Option<FenceOperation>, StopReason> {
        let (object, name) = stream(&self.name, site)?;
        let item = appended(self).map_err(|refused| {
            StopReason::Contract(format!("the item of the stream `{name}`: {refused}"))
        })?;
        Ok(Some(FenceOperation::Stream(StreamItem { object, name, ..item })))
    }

    fn stream_item(&self) -> Option<StreamItem> {
        if self.name.starts_with(OF_OBJECT) {
            return None;
        }
        appended(self).ok()
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> JournalAnswer {
        JournalAnswer::Command(index)
    }
}

/// The object that a stream belongs to, if any, and the name of the stream.
fn stream(name: &str, site: &CommandContext<'_>) -> Result<(Option<ObjectId>, Text), StopReason> {
    let Some(name) = name.strip_prefix(OF_OBJECT) else { return Ok((None, Text::from(name))) };
    match &site.identity.object {
        Some((object, _)) => Ok((Some(object.clone()), Text::from(name))),
        None => Err(StopReason::Contract(format!(
            "a function of no object cannot write `{name}`, a stream of an object"
        ))),
    }
}

fn appended(append: &AppendStreamCommand) -> Result<StreamItem, ItemsError> {
    let item = journals::payload(&append.item);
    Ok(StreamItem {
        object: None,
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

    fn act(&self, site: &CommandContext<'_>) -> Result<Option<FenceOperation>, StopReason> {
        let (object, name) = stream(&self.name, site)?;
        Ok(Some(FenceOperation::Stream(StreamItem {
            object,
            name,
            content_type: Text::from(self.content_type.as_str()),
            items: StreamItems::default(),
            closes: true,
        })))
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> JournalAnswer {
        JournalAnswer::Command(index)
    }
}
