//! The messages that a workflow accepts.

use schemars::{JsonSchema, generate::SchemaSettings};

use crate::bindings::exports::segno::workflow::messages::{MessageDescription, MessageKind};

/// A named promise that a workflow awaits, or a signal that it receives, with the type of its
/// value. Created by the arguments `promises(…)` and `signals(…)` of `#[segno::workflow]`.
pub struct Message {
    kind: MessageKind,
    name: &'static str,
    schema: fn() -> String,
}

impl Message {
    /// Declares a promise with this name and a value of type `T`.
    pub fn promise<T: JsonSchema>(name: &'static str) -> Self {
        Self { kind: MessageKind::Promise, name, schema: schema::<T> }
    }

    /// Declares a signal with this name and a value of type `T`.
    pub fn signal<T: JsonSchema>(name: &'static str) -> Self {
        Self { kind: MessageKind::Signal, name, schema: schema::<T> }
    }

    /// The name, if it is a signal.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn signal_name(&self) -> Option<&'static str> {
        (self.kind == MessageKind::Signal).then_some(self.name)
    }

    pub(crate) fn describe(&self, function: &str) -> MessageDescription {
        MessageDescription {
            function: function.to_owned(),
            kind: self.kind,
            name: self.name.to_owned(),
            schema: (self.schema)(),
        }
    }
}

fn schema<T: JsonSchema>() -> String {
    let settings = SchemaSettings::draft2020_12().for_deserialize();
    settings.into_generator().into_root_schema_for::<T>().as_value().to_string()
}
