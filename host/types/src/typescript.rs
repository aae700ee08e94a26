//! Types and references in TypeScript.

use std::fmt::Write as _;

use crate::{
    module::{TypedFunction, TypedHandler, TypedMessage, TypedModule},
    names::{NameScope, camel, is_identifier},
    tree::{DefinitionBody, LiteralValue, TypeNote, TypeTree},
};

/// Names that types cannot have, or that stand for others here.
const RESERVED: [&str; 16] = [
    "FunctionReference",
    "Any",
    "Array",
    "BigInt",
    "Boolean",
    "Date",
    "Error",
    "Function",
    "Never",
    "Number",
    "Object",
    "Promise",
    "Record",
    "String",
    "Symbol",
    "Map",
];

/// Words that variables cannot have as their name.
const KEYWORDS: [&str; 46] = [
    "arguments",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "debugger",
    "default",
    "delete",
    "do",
    "else",
    "enum",
    "eval",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "function",
    "if",
    "implements",
    "import",
    "in",
    "instanceof",
    "interface",
    "let",
    "new",
    "null",
    "package",
    "private",
    "protected",
    "public",
    "return",
    "static",
    "super",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "var",
    "while",
    "yield",
];

const REFERENCE: &str = "\
/** A function of the module: `@segno/client` and `@segno/sdk` take it in place of a name. */
export interface FunctionReference<Input, Output, Messages = unknown> {
  /** The address of the function. */
  readonly address: string;
  /** The types, for the compiler only. */
  readonly '~types'?: { readonly input: (input: Input) => void; readonly output: Output } | undefined;
  /** The types of signals, promises, queries and updates, for the compiler only. */
  readonly '~messages'?: Messages | undefined;
}
";

/// The file without its header.
pub(crate) fn written(module: &TypedModule) -> String {
    let mut scope = NameScope::reserving(&RESERVED);
    let names = module.definitions.iter().map(|known| scope.take(&known.name, "Type")).collect();
    let mut out = TypeScript { text: REFERENCE.to_owned(), names };
    for (definition, name) in module.definitions.iter().zip(out.names.clone()) {
        out.text.push('\n');
        out.comment(&definition.note, "");
        out.definition(&name, &definition.body);
    }
    out.functions(module);
    out.text
}

struct TypeScript {
    text: String,
    /// The names of the definitions.
    names: Vec<String>,
}

impl TypeScript {
    fn line(&mut self, indent: &str, line: &str) {
        let _ = writeln!(self.text, "{indent}{line}");
    }

    fn comment(&mut self, note: &TypeNote, indent: &str) {
        let mut lines = note.lines();
        if note.is_deprecated {
            lines.push("@deprecated".to_owned());
        }
        let lines: Vec<String> = lines.iter().map(|line| line.replace("*/", "*\\/")).collect();
        match lines.as_slice() {
            [] => {}
            [line] => self.line(indent, &format!("/** {line} */")),
            lines => {
                self.line(indent, "/**");
                for line in lines {
                    self.line(indent, format!(" * {line}").trim_end());
                }
                self.line(indent, " */");
            }
        }
    }

    fn definition(&mut self, name: &str, body: &DefinitionBody) {
        match body {
            DefinitionBody::Alias(of) => {
                let of = self.expression(of);
                self.line("", &format!("export type {name} = {of};"));
            }
            DefinitionBody::Object { fields, rest, .. } => {
                self.line("", &format!("export interface {name} {{"));
                for field in fields {
                    self.comment(&field.note, "  ");
                    let mark = if field.is_required { "" } else { "?" };
                    let value = self.expression(&field.value);
                    self.line("  ", &format!("{}{mark}: {value};", key(&field.name)));
                }
                if let Some(rest) = rest {
                    // The type of all other keys would have to include those of the fields.
                    let of = self.expression(rest);
                    let note = match rest {
                        TypeTree::Any => String::new(),
                        _ => format!(" // {of}, for keys without a field"),
                    };
                    self.line("  ", &format!("[key: string]: unknown;{note}"));
                }
                self.line("", "}");
            }
        }
    }

    fn functions(&mut self, module: &TypedModule) {
        let mut scope = NameScope::reserving(&KEYWORDS);
        let name = scope.take_word(&camel(&module.name), "module");
        let address = format!("wasm://{}", module.name);
        self.text.push('\n');
        self.line(
            "",
            &format!("/** The functions of the module `{}`. */", module.name.replace("*/", "*\\/")),
        );
        self.line("", &format!("export const {name} = {{"));
        for function in module.plain_functions() {
            self.comment(&function.note, "  ");
            let address = text(&format!("{address}/{}", function.name));
            self.reference("  ", function, &address);
        }
        let plain: Vec<&str> =
            module.plain_functions().map(|function| function.name.as_str()).collect();
        let mut keys = NameScope::reserving(&plain);
        for (object, functions) in module.objects() {
            self.line(
                "  ",
                &format!("/** The object `{}` with this key. */", object.replace("*/", "*\\/")),
            );
            self.line(
                "  ",
                &format!("{}: (key: string) => ({{", key(&keys.take_word(object, "object"))),
            );
            let kind = text(&format!("{address}/{object}@"));
            for function in functions {
                self.comment(&function.note, "    ");
                let address = format!("{kind} + key + {}", text(&format!("/{}", function.name)));
                self.reference("    ", function, &address);
            }
            self.line("  ", "}),");
        }
        self.line("", "};");
    }

    fn reference(&mut self, indent: &str, function: &TypedFunction, address: &str) {
        let input = self.input(&function.input);
        let output = self.expression(&function.output);
        self.line(
            indent,
            &format!("{}: {{ address: {address} }} as FunctionReference<", key(&function.name)),
        );
        self.line(indent, &format!("  {input},"));
        self.line(indent, &format!("  {output},"));
        self.line(indent, "  {");
        let inner = format!("{indent}    ");
        self.messages(&inner, "signals", function.signals.as_deref());
        self.messages(&inner, "promises", function.promises.as_deref());
        self.handlers(&inner, "queries", &function.queries);
        self.handlers(&inner, "updates", &function.updates);
        self.line(indent, "  }");
        self.line(indent, ">,");
    }

    fn messages(&mut self, indent: &str, kind: &str, messages: Option<&[TypedMessage]>) {
        let Some(messages) = messages else { return };
        if messages.is_empty() {
            return self.line(indent, &format!("{kind}: {{}};"));
        }
        self.line(indent, &format!("{kind}: {{"));
        for message in messages {
            self.comment(&message.note, &format!("{indent}  "));
            let value = self.input(&message.value);
            self.line(indent, &format!("  {}: {value};", key(&message.name)));
        }
        self.line(indent, "};");
    }

    fn handlers(&mut self, indent: &str, kind: &str, handlers: &[TypedHandler]) {
        if handlers.is_empty() {
            return self.line(indent, &format!("{kind}: {{}};"));
        }
        self.line(indent, &format!("{kind}: {{"));
        for handler in handlers {
            self.comment(&handler.note, &format!("{indent}  "));
            let (input, output) = (self.input(&handler.input), self.expression(&handler.output));
            let name = key(&handler.name);
            self.line(indent, &format!("  {name}: {{ input: {input}; output: {output} }};"));
        }
        self.line(indent, "};");
    }

    /// The type of a value that is sent: where `null` may be sent, it may be left out.
    fn input(&self, of: &TypeTree) -> String {
        let written = self.expression(of);
        let is_nullable = *of == TypeTree::Null || of.without_null().1;
        if is_nullable { format!("{written} | undefined") } else { written }
    }

    fn expression(&self, of: &TypeTree) -> String {
        match of {
            TypeTree::Any => "unknown".to_owned(),
            TypeTree::Never => "never".to_owned(),
            TypeTree::Null => "null".to_owned(),
            TypeTree::Boolean => "boolean".to_owned(),
            TypeTree::Integer { .. } | TypeTree::Number => "number".to_owned(),
            TypeTree::Text => "string".to_owned(),
            TypeTree::Literals { values, .. } => {
                let each = values.iter().map(|value| match value {
                    LiteralValue::Text(value) => text(value),
                    LiteralValue::Integer(value) => value.to_string(),
                    LiteralValue::Boolean(value) => value.to_string(),
                });
                each.collect::<Vec<_>>().join(" | ")
            }
            TypeTree::List(item) => format!("{}[]", self.bracketed(item)),
            TypeTree::Tuple { items, required, rest } => {
                let each = items.iter().enumerate().map(|(at, item)| {
                    let mark = if at < *required { "" } else { "?" };
                    format!("{}{mark}", self.bracketed(item))
                });
                let rest = rest.iter().map(|rest| format!("...{}[]", self.bracketed(rest)));
                format!("[{}]", each.chain(rest).collect::<Vec<_>>().join(", "))
            }
            TypeTree::Record(value) => format!("{{ [key: string]: {} }}", self.expression(value)),
            TypeTree::Union { branches, .. } => {
                let mut each: Vec<String> =
                    branches.iter().map(|one| self.expression(one)).collect();
                each.dedup();
                each.join(" | ")
            }
            TypeTree::Named(number) => self.names[*number].clone(),
        }
    }

    /// The type, in brackets if something behind it would bind to its last part.
    fn bracketed(&self, of: &TypeTree) -> String {
        let written = self.expression(of);
        let is_several = match of {
            TypeTree::Union { .. } => true,
            TypeTree::Literals { values, .. } => values.len() > 1,
            _ => false,
        };
        if is_several { format!("({written})") } else { written }
    }
}

/// The key of a field, in quotes if it is no identifier.
fn key(name: &str) -> String {
    match is_identifier(name) && name != "__proto__" {
        true => name.to_owned(),
        false if name == "__proto__" => "['__proto__']".to_owned(),
        false => text(name),
    }
}

/// A text as a literal in single quotes.
fn text(value: &str) -> String {
    let mut text = String::from("'");
    for character in value.chars() {
        match character {
            '\'' | '\\' => {
                text.push('\\');
                text.push(character);
            }
            '\n' => text.push_str("\\n"),
            character if character.is_control() || matches!(character, '\u{2028}' | '\u{2029}') => {
                let _ = write!(text, "\\u{{{:x}}}", u32::from(character));
            }
            character => text.push(character),
        }
    }
    text.push('\'');
    text
}
