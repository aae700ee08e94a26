//! The page: a section for each public module, and a heading for each item.

use std::fmt::Write as _;

use syn::{Item, ItemFn};

use super::{
    signature::{of_function, of_item},
    source::Source,
    words::{attributes, before_examples, first_paragraph, is_hidden},
};

const BEGIN: &str = "# The Rust SDK, item by item

Made from the source of the package `segno-sdk`, which is used under the name `segno`: each public item with its signature and the first
paragraph of its documentation. [Writing functions in Rust](../how-to/sdk.md) explains them, with examples.

";

pub(super) fn page(source: &Source) -> String {
    let mut page = format!("{BEGIN}## Attributes and macros\n\n");
    for item in &source.macros {
        page += &of_macro(item);
    }
    for (module, names) in &source.public {
        let title = match *module {
            "" => "Types and functions".to_owned(),
            module => format!("Module `segno::{module}`"),
        };
        let _ = write!(page, "## {title}\n\n");
        let mut others = Vec::new();
        for name in names {
            match source.item(module, name) {
                Some(item) if is_hidden(attributes(item)) => {}
                Some(item) => page += &of(item, name, source.methods(module, name)),
                None => others.push(format!("`{name}`")),
            }
        }
        if !others.is_empty() {
            let _ = write!(
                page,
                "As they are in the crates that define them: {}.\n\n",
                others.join(", ")
            );
        }
    }
    format!("{}\n", page.trim_end())
}

fn of_macro(item: &Item) -> String {
    let name = match item {
        Item::Fn(ItemFn { sig, .. }) => format!("#[segno::{}]", sig.ident),
        Item::Macro(item) => {
            format!("segno::{}!", item.ident.as_ref().expect("a definition has a name"))
        }
        _ => unreachable!("only functions and macros are taken"),
    };
    format!("### `{name}`\n\n{}\n\n", before_examples(attributes(item)))
}

fn of(item: &Item, name: &str, methods: &[syn::ImplItemFn]) -> String {
    let words = first_paragraph(attributes(item));
    let mut section = format!("### `{name}`\n\n{words}\n\n");
    if let Item::Fn(function) = item {
        let _ = write!(section, "```rust\n{}\n```\n\n", of_function(&function.sig));
    }
    if let Some(declaration) = of_item(item) {
        let _ = write!(section, "```rust\n{declaration}\n```\n\n");
    }
    for method in methods {
        let words = first_paragraph(&method.attrs);
        let words = if words.is_empty() { words } else { format!(": {words}") };
        let _ = writeln!(section, "- `{}`{words}", of_function(&method.sig));
    }
    format!("{}\n\n", section.trim_end())
}
