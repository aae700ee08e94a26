//! Signatures and declarations, formatted as by hand.

use syn::{Block, Field, Fields, File, Item, ItemFn, ItemTrait, Signature, TraitItem, Visibility};

use super::words::is_hidden;

/// A function on one line, without its body.
pub(super) fn of_function(signature: &Signature) -> String {
    let vis = Visibility::Inherited;
    let block = Box::new(Block { brace_token: syn::token::Brace::default(), stmts: Vec::new() });
    let signature = signature.clone();
    let function = Item::Fn(ItemFn { attrs: Vec::new(), vis, sig: signature, block });
    on_one_line(written(function).trim_end_matches("{}").trim_end())
}

/// The declaration of an item with visible parts: an enumeration, a trait, or a structure with
/// public fields. `None` if its parts are private.
pub(super) fn of_item(item: &Item) -> Option<String> {
    let mut item = item.clone();
    match &mut item {
        Item::Enum(item) => item.attrs.clear(),
        Item::Type(item) => item.attrs.clear(),
        Item::Struct(item) => {
            item.attrs.clear();
            let Fields::Named(fields) = &mut item.fields else { return None };
            let is_public = |field: &Field| matches!(field.vis, Visibility::Public(_));
            if !fields.named.iter().all(is_public) {
                return None;
            }
        }
        Item::Trait(item) => without_bodies(item),
        _ => return None,
    }
    Some(written(item))
}

fn without_bodies(item: &mut ItemTrait) {
    item.attrs.clear();
    item.items.retain(|part| match part {
        TraitItem::Fn(part) => !is_hidden(&part.attrs),
        TraitItem::Const(part) => !is_hidden(&part.attrs),
        TraitItem::Type(part) => !is_hidden(&part.attrs),
        _ => false,
    });
    for part in &mut item.items {
        if let TraitItem::Fn(part) = part {
            part.default = None;
            part.semi_token = Some(syn::token::Semi::default());
        }
    }
}

fn written(item: Item) -> String {
    let file = File { shebang: None, attrs: Vec::new(), items: vec![item] };
    prettyplease::unparse(&file).trim_end().to_owned()
}

fn on_one_line(text: &str) -> String {
    let lines = text.lines().map(str::trim);
    let line = lines.collect::<Vec<&str>>().join(" ");
    let line = line.replace("( ", "(").replace(", )", ")").replace("< ", "<").replace(", >", ">");
    line.trim_end_matches(',').to_owned()
}
