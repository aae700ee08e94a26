//! References to functions and messages in Python.

use std::fmt::Write as _;

use super::{KEYWORDS, Python, USED, identifier, text};
use crate::{
    module::{TypedFunction, TypedHandler, TypedMessage},
    names::NameScope,
    tree::TypeNote,
};

impl Python {
    pub(super) fn messages(&mut self, name: &str, class: &str, messages: &[TypedMessage]) {
        let each: Vec<(&str, &TypeNote, String)> = messages
            .iter()
            .map(|message| (message.name.as_str(), &message.note, self.expression(&message.value)))
            .collect();
        self.references(name, class, &each);
    }

    pub(super) fn handlers(&mut self, name: &str, class: &str, handlers: &[TypedHandler]) {
        let types = |handler: &TypedHandler| {
            format!("{}, {}", self.expression(&handler.input), self.expression(&handler.output))
        };
        let each: Vec<(&str, &TypeNote, String)> = handlers
            .iter()
            .map(|handler| (handler.name.as_str(), &handler.note, types(handler)))
            .collect();
        self.references(name, class, &each);
    }

    /// A class whose attributes are references, each with its name, comment and types.
    fn references(&mut self, name: &str, class: &str, each: &[(&str, &TypeNote, String)]) {
        if each.is_empty() {
            return;
        }
        let _ = write!(self.text, "\n\nclass {name}:\n");
        // An attribute hides the name of a type behind it.
        let reserved: Vec<&str> =
            KEYWORDS.into_iter().chain(USED).chain(self.names.iter().map(String::as_str)).collect();
        let mut scope = NameScope::reserving(&reserved);
        for (own, note, types) in each {
            let attribute = scope.take_word(&identifier(own), "message");
            self.line("    ", &format!("{attribute} = {class}[{types}]({})", text(own)));
            self.docstring(note, "    ");
        }
    }

    pub(super) fn object(
        &mut self,
        address: &str,
        object: &str,
        functions: &[&TypedFunction],
        name: &str,
    ) {
        let _ = write!(self.text, "\n\nclass {name}:\n");
        let about = TypeNote {
            text: format!("The object `{object}` with this key."),
            ..TypeNote::default()
        };
        self.docstring(&about, "    ");
        self.text.push('\n');
        self.line("    ", "def __init__(self, key: str) -> None:");
        let mut scope = NameScope::reserving(&KEYWORDS);
        let kind = text(&format!("{address}/{object}@"));
        for function in functions {
            let attribute = scope.take_word(&identifier(&function.name), "function");
            let types = self.function_types(function);
            let path = text(&format!("/{}", function.name));
            self.line(
                "        ",
                &format!("self.{attribute} = FunctionReference[{types}]({kind} + key + {path})"),
            );
            self.docstring(&function.note, "        ");
        }
    }
}
