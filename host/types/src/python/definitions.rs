//! Typed dictionaries and aliases in Python.

use super::{KEYWORDS, Python, USED, text};
use crate::{
    circles::DefinitionOrder,
    module::TypedModule,
    names::is_identifier,
    tree::{DefinitionBody, TypeNote, TypeTree, TypedField},
};

impl Python {
    pub(super) fn definitions(&mut self, module: &TypedModule) {
        // Names of classes exist when aliases are made of them.
        for (number, known) in module.definitions.iter().enumerate() {
            if let DefinitionBody::Object { fields, rest, .. } = &known.body {
                self.text.push_str("\n\n");
                self.object_type(number, &known.note, fields, rest.as_ref());
            }
        }
        let order = DefinitionOrder::new(&module.definitions);
        for &number in &order.parts_first {
            let known = &module.definitions[number];
            let DefinitionBody::Alias(of) = &known.body else { continue };
            self.text.push_str("\n\n");
            self.comment(&known.note, "");
            let of = self.expression(of);
            let is_late = order.is_in_circle(number);
            let of = if is_late { text(&of) } else { of };
            self.line("", &format!("{}: TypeAlias = {of}", self.names[number]));
        }
    }

    fn object_type(
        &mut self,
        number: usize,
        note: &TypeNote,
        fields: &[TypedField],
        rest: Option<&TypeTree>,
    ) {
        let name = self.names[number].clone();
        let rest = rest.map(|rest| format!("# Other keys: {}", self.expression(rest)));
        let is_plain = |field: &TypedField| {
            is_identifier(&field.name)
                && !field.name.starts_with("__")
                && !KEYWORDS.contains(&field.name.as_str())
                && !USED.contains(&field.name.as_str())
                && !self.names.contains(&field.name)
        };
        if fields.iter().all(is_plain) {
            self.line("", &format!("class {name}(TypedDict):"));
            self.docstring(note, "    ");
            if !note.lines().is_empty() || note.is_deprecated {
                self.text.push('\n');
            }
            for field in fields {
                self.comment(&field.note, "    ");
                let value = self.field(field);
                self.line("    ", &format!("{}: {value}", field.name));
            }
            rest.iter().for_each(|rest| self.line("    ", rest));
        } else {
            self.comment(note, "");
            self.line("", &format!("{name} = TypedDict("));
            self.line("    ", &format!("{},", text(&name)));
            self.line("    ", "{");
            for field in fields {
                self.comment(&field.note, "        ");
                let value = text(&self.field(field));
                self.line("        ", &format!("{}: {value},", text(&field.name)));
            }
            rest.iter().for_each(|rest| self.line("        ", rest));
            self.line("    ", "},");
            self.line("", ")");
        }
    }

    fn field(&self, field: &TypedField) -> String {
        let value = self.expression(&field.value);
        if field.is_required { value } else { format!("NotRequired[{value}]") }
    }
}
