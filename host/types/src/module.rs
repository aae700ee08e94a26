//! The functions of a module, with their types.

use segno_model::{Function, FunctionKind, HandlerKind, MessageKind, ModuleDescription};
use serde_json::Value;

use crate::{
    names::pascal,
    reader::SchemaReader,
    tree::{Definition, TypeNote, TypeTree},
    unify::unified,
};

/// A module with the types of its functions.
#[derive(Debug)]
pub(crate) struct TypedModule {
    /// The name by which it is called.
    pub(crate) name: String,
    /// The functions, by name.
    pub(crate) functions: Vec<TypedFunction>,
    /// The types that have names.
    pub(crate) definitions: Vec<Definition>,
}

/// A function with its types.
#[derive(Debug)]
pub(crate) struct TypedFunction {
    /// The kind of object to which it belongs, if it does.
    pub(crate) object: Option<String>,
    /// The name, within the object if it belongs to one.
    pub(crate) name: String,
    /// The comment on it.
    pub(crate) note: TypeNote,
    /// The type of its input.
    pub(crate) input: TypeTree,
    /// The type of its output.
    pub(crate) output: TypeTree,
    /// The signals that it takes; `None` if it takes any.
    pub(crate) signals: Option<Vec<TypedMessage>>,
    /// The promises that it awaits by name; `None` if it declares none.
    pub(crate) promises: Option<Vec<TypedMessage>>,
    /// The queries that it answers.
    pub(crate) queries: Vec<TypedHandler>,
    /// The updates that it answers.
    pub(crate) updates: Vec<TypedHandler>,
}

/// A signal or a promise with its type.
#[derive(Debug)]
pub(crate) struct TypedMessage {
    /// The name.
    pub(crate) name: String,
    /// The comment on it.
    pub(crate) note: TypeNote,
    /// The type of its value.
    pub(crate) value: TypeTree,
}

/// A query or an update with its types.
#[derive(Debug)]
pub(crate) struct TypedHandler {
    /// The name.
    pub(crate) name: String,
    /// The comment on it.
    pub(crate) note: TypeNote,
    /// The type of its input.
    pub(crate) input: TypeTree,
    /// The type of its answer.
    pub(crate) output: TypeTree,
}

impl TypedModule {
    /// Reads all schemas of the description.
    pub(crate) fn read(name: &str, description: &ModuleDescription) -> Self {
        let mut reader = SchemaReader::default();
        let mut functions: Vec<&Function> = description.functions.iter().collect();
        functions.sort_by(|one, other| one.name.cmp(&other.name));
        let mut functions: Vec<TypedFunction> =
            functions.into_iter().map(|function| typed(&mut reader, function)).collect();
        let definitions = reader.into_definitions();
        let roots: Vec<&TypeTree> = functions.iter().flat_map(TypedFunction::types).collect();
        let (definitions, numbers) = unified(&definitions, &roots);
        for function in &mut functions {
            for own in function.types_mut() {
                *own = own.renumbered(&|number| numbers[number]);
            }
        }
        Self { name: name.to_owned(), functions, definitions }
    }

    /// The kinds of objects with their functions, by name.
    pub(crate) fn objects(&self) -> Vec<(&str, Vec<&TypedFunction>)> {
        let mut objects: Vec<(&str, Vec<&TypedFunction>)> = Vec::new();
        for function in &self.functions {
            let Some(object) = &function.object else { continue };
            match objects.iter_mut().find(|(known, _)| known == object) {
                Some((_, functions)) => functions.push(function),
                None => objects.push((object, vec![function])),
            }
        }
        objects
    }

    /// The functions that belong to no object, by name.
    pub(crate) fn plain_functions(&self) -> impl Iterator<Item = &TypedFunction> {
        self.functions.iter().filter(|function| function.object.is_none())
    }
}

impl TypedFunction {
    /// The types of its input, its output and its messages.
    pub(crate) fn types(&self) -> Vec<&TypeTree> {
        let messages = self.signals.iter().chain(&self.promises).flatten();
        let handlers = self.queries.iter().chain(&self.updates);
        [&self.input, &self.output]
            .into_iter()
            .chain(messages.map(|message| &message.value))
            .chain(handlers.flat_map(|handler| [&handler.input, &handler.output]))
            .collect()
    }

    fn types_mut(&mut self) -> Vec<&mut TypeTree> {
        let messages = self.signals.iter_mut().chain(&mut self.promises).flatten();
        let handlers = self.queries.iter_mut().chain(&mut self.updates);
        [&mut self.input, &mut self.output]
            .into_iter()
            .chain(messages.map(|message| &mut message.value))
            .chain(handlers.flat_map(|handler| [&mut handler.input, &mut handler.output]))
            .collect()
    }
}

fn typed(reader: &mut SchemaReader, function: &Function) -> TypedFunction {
    let hint = pascal(&function.name);
    let mut note = summary(function.summary.as_deref());
    let input = described(reader, &mut note, function.input_schema.as_ref(), &hint, "Input");
    let output = described(reader, &mut note, function.output_schema.as_ref(), &hint, "Output");
    let mut handlers = |kind| {
        let own = function.handlers.iter().filter(move |handler| handler.kind == kind);
        let each = own.map(|handler| {
            let hint = format!("{hint}{}", pascal(&handler.name));
            let mut note = summary(handler.summary.as_deref());
            TypedHandler {
                name: handler.name.clone(),
                input: described(reader, &mut note, handler.input_schema.as_ref(), &hint, "Input"),
                output: described(
                    reader,
                    &mut note,
                    handler.output_schema.as_ref(),
                    &hint,
                    "Answer",
                ),
                note,
            }
        });
        each.collect::<Vec<_>>()
    };
    let (queries, updates) = (handlers(HandlerKind::Query), handlers(HandlerKind::Update));
    let mut messages = |kind, word| {
        let own = function.messages.iter().filter(move |message| message.kind == kind);
        let each = own.map(|message| {
            let hint = format!("{hint}{}{word}", pascal(&message.name));
            let (value, note) = reader.read(&message.schema, &hint);
            TypedMessage { name: message.name.clone(), note, value }
        });
        each.collect::<Vec<_>>()
    };
    let promises = messages(MessageKind::Promise, "Promise");
    let signals = messages(MessageKind::Signal, "Signal");
    let is_activity = function.kind == FunctionKind::Activity;
    // The host takes any signal for a function that takes signals and declares none. Updates come
    // as signals.
    let takes_any = function.signals && signals.is_empty() && updates.is_empty();
    let keyed = function.access.and(function.name.split_once('/'));
    TypedFunction {
        object: keyed.map(|(object, _)| object.to_owned()),
        name: keyed.map_or(function.name.as_str(), |(_, name)| name).to_owned(),
        note,
        input,
        output,
        signals: (!takes_any).then_some(signals),
        promises: (is_activity || !promises.is_empty()).then_some(promises),
        queries,
        updates,
    }
}

fn summary(text: Option<&str>) -> TypeNote {
    TypeNote { text: text.unwrap_or_default().to_owned(), ..TypeNote::default() }
}

/// The type of an input or output. What it does not say is added to the comment on the function.
fn described(
    reader: &mut SchemaReader,
    note: &mut TypeNote,
    schema: Option<&Value>,
    hint: &str,
    word: &str,
) -> TypeTree {
    let Some(schema) = schema else { return TypeTree::Any };
    let (read, own) = reader.read(schema, &format!("{hint}{word}"));
    note.schema.extend(own.schema.iter().map(|schema| format!("{} {schema}", word.to_lowercase())));
    read
}
