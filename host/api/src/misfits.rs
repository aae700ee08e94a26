//! Compares values with the schemas that modules declare.

use segno_core::id::Digest;
use segno_guest::{SchemaMismatch, SchemaSubject};
use serde_json::Value;

use super::{
    Api,
    model::{Function, Handler, Message},
};

impl Api {
    /// Returns the places where `input` does not match the function's input schema.
    pub(super) fn misfits(
        &self,
        module: Digest,
        function: &Function,
        input: &Value,
    ) -> Vec<SchemaMismatch> {
        let Some(schema) = &function.input_schema else { return Vec::new() };
        self.host.schemas.misfits(module, &function.name, SchemaSubject::Input, schema, input)
    }

    /// Returns the places where `output` does not match the function's output schema.
    pub(super) fn output_misfits(
        &self,
        module: Digest,
        function: &Function,
        output: &Value,
    ) -> Vec<SchemaMismatch> {
        let Some(schema) = &function.output_schema else { return Vec::new() };
        self.host.schemas.misfits(module, &function.name, SchemaSubject::Output, schema, output)
    }

    /// Returns the places where the value of a message does not match its schema.
    pub(super) fn message_misfits(
        &self,
        module: Digest,
        function: &Function,
        message: &Message,
        value: &Value,
    ) -> Vec<SchemaMismatch> {
        let of = SchemaSubject::Sent(message.kind.as_str(), &message.name);
        self.host.schemas.misfits(module, &function.name, of, &message.schema, value)
    }

    /// Returns the places where the input of a query or update does not match its schema.
    pub(super) fn handler_misfits(
        &self,
        module: Digest,
        function: &Function,
        handler: &Handler,
        input: &Value,
    ) -> Vec<SchemaMismatch> {
        let Some(schema) = &handler.input_schema else { return Vec::new() };
        let of = SchemaSubject::Sent(handler.kind.as_str(), &handler.name);
        self.host.schemas.misfits(module, &function.name, of, schema, input)
    }
}
