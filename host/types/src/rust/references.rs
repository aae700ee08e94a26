//! References to functions and messages in Rust.

use super::{KEYWORDS, Rust, text};
use crate::{
    module::TypedFunction,
    names::{NameScope, snake},
    tree::TypeNote,
};

impl Rust<'_> {
    pub(super) fn object(&mut self, object: &str, functions: &[&TypedFunction], name: &str) {
        let mut scope = NameScope::reserving(&KEYWORDS);
        scope.take("new", "new");
        let mut lines = Vec::new();
        for function in functions {
            let own = scope.take_word(&snake(&function.name), "function");
            let types = self.function_types(function);
            let path = text(&format!("/{}", function.name));
            lines.push((function.note.clone(), own, types, path));
        }
        let kind = text(&format!("wasm://{}/{object}@", self.module.name));
        self.text.push('\n');
        self.line("", &format!("/// The object `{}` with a key.", object.replace('\n', " ")));
        self.line("", "#[derive(Debug, Clone, PartialEq, Eq)]");
        self.line("", &format!("pub struct {name}(String);"));
        self.text.push('\n');
        self.line("", &format!("impl {name} {{"));
        self.line("    ", "/// The object with this key.");
        self.line("    ", "pub fn new(key: impl Into<String>) -> Self {");
        self.line("        ", "Self(key.into())");
        self.line("    ", "}");
        for (note, own, types, path) in lines {
            self.text.push('\n');
            self.comment(&note, "    ");
            self.line("    ", &format!("pub fn {own}(&self) -> FunctionReference<{types}> {{"));
            self.line("        ", &format!("FunctionReference::keyed({kind}, &self.0, {path})"));
            self.line("    ", "}");
        }
        self.line("", "}");
    }

    pub(super) fn functions(&mut self) {
        let mut scope = NameScope::default();
        let module = self.module;
        for function in module.plain_functions() {
            let name = scope.take(&snake(&function.name).to_uppercase(), "FUNCTION");
            let types = self.function_types(function);
            let address = text(&format!("wasm://{}/{}", module.name, function.name));
            self.constant(&function.note, &name, "FunctionReference", &types, &address);
        }
        for function in &module.functions {
            let object = function.object.as_deref().map(|object| snake(object) + "_");
            let own = object.unwrap_or_default() + &snake(&function.name);
            let mut each = Vec::new();
            for (class, word, messages) in [
                ("SignalReference", "signal", &function.signals),
                ("PromiseReference", "promise", &function.promises),
            ] {
                for message in messages.iter().flatten() {
                    let types = self.expression(&message.value, None, false);
                    each.push((class, word, &message.name, &message.note, types));
                }
            }
            for (class, word, handlers) in [
                ("QueryReference", "query", &function.queries),
                ("UpdateReference", "update", &function.updates),
            ] {
                for handler in handlers {
                    let input = self.expression(&handler.input, None, false);
                    let output = self.expression(&handler.output, None, false);
                    each.push((
                        class,
                        word,
                        &handler.name,
                        &handler.note,
                        format!("{input}, {output}"),
                    ));
                }
            }
            for (class, word, message, note, types) in each {
                let name = format!("{own}_{}_{word}", snake(message)).to_uppercase();
                let name = scope.take(&name, "MESSAGE");
                self.constant(note, &name, class, &types, &text(message));
            }
        }
    }

    fn constant(&mut self, note: &TypeNote, name: &str, class: &str, types: &str, of: &str) {
        self.text.push('\n');
        self.comment(note, "");
        self.line("", &format!("pub const {name}: {class}<{types}> = {class}::new({of});"));
    }

    fn function_types(&mut self, function: &TypedFunction) -> String {
        let input = self.expression(&function.input, None, false);
        let output = self.expression(&function.output, None, false);
        format!("{input}, {output}")
    }
}
