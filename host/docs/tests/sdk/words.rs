//! The documentation of an item, as far as a reference shows it.

use syn::{Attribute, Expr, ExprLit, Item, Lit, Meta};

/// Returns true if an item is hidden from documentation.
pub(super) fn is_hidden(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) => list.path.is_ident("doc") && list.tokens.to_string() == "hidden",
        Meta::Path(_) | Meta::NameValue(_) => false,
    })
}

/// The attributes of an item with a name.
pub(super) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Struct(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        _ => &[],
    }
}

/// The first paragraph, on one line.
pub(super) fn first_paragraph(attributes: &[Attribute]) -> String {
    let text = documentation(attributes);
    let lines = text.lines().take_while(|line| !line.is_empty());
    without_links(&lines.collect::<Vec<&str>>().join(" "))
}

/// Everything before the first example.
pub(super) fn before_examples(attributes: &[Attribute]) -> String {
    let text = documentation(attributes);
    let before = text.split("\n```").next().unwrap_or_default();
    // A heading within an item is placed below the heading of the item.
    without_links(&before.trim().replace("\n# ", "\n#### "))
}

fn documentation(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    });
    let lines = lines.map(|line| line.strip_prefix(' ').unwrap_or(&line).to_owned());
    lines.collect::<Vec<String>>().join("\n")
}

/// The text with links to items replaced by their names: `Context` for [`Context`], and for
/// [`Context`](crate::Context).
fn without_links(text: &str) -> String {
    let (mut written, mut rest) = (String::new(), text);
    while let Some((before, link)) = rest.split_once('[') {
        let Some((name, after)) = link.split_once(']') else { break };
        let target = after.strip_prefix('(').and_then(|target| target.split_once(')'));
        let is_item = name.starts_with('`') && name.ends_with('`') || target.is_some();
        written += before;
        written += &match is_item {
            true => name.replace("macro@", ""),
            false => format!("[{name}]"),
        };
        rest = target.map_or(after, |(_, after)| after);
    }
    written + rest
}

#[test]
fn links_to_items_are_names() {
    for (text, written) in [
        ("See [`Context::run`].", "See `Context::run`."),
        ("[`a`](crate::a) and [`macro@b`]", "`a` and `b`"),
        ("see the [module](super).", "see the module."),
        ("`[u8]` and `retry = [503]`", "`[u8]` and `retry = [503]`"),
    ] {
        assert_eq!(without_links(text), written);
    }
}
