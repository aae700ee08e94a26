//! The source of the SDK: its items by name, and the public modules that show them.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use syn::{File, Ident, ImplItemFn, Item, ItemUse, UseTree, Visibility};

use super::words::is_hidden;

const SDK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../guest-sdk");

/// The public modules, except the root, which is "".
const MODULES: [&str; 3] = ["http", "graph", "testing"];

/// A public module and a name in it.
type Name = (&'static str, String);

/// The parsed source.
pub(super) struct Source {
    items: BTreeMap<Name, Item>,
    methods: BTreeMap<Name, Vec<ImplItemFn>>,
    /// The names that each public module shows, in source order.
    pub(super) public: Vec<(&'static str, Vec<String>)>,
    /// The attribute macros and the other macros.
    pub(super) macros: Vec<Item>,
}

impl Source {
    /// Reads and parses the source.
    pub(super) fn read() -> Self {
        let mut source = Self {
            items: BTreeMap::new(),
            methods: BTreeMap::new(),
            public: Vec::new(),
            macros: Vec::new(),
        };
        for item in parsed(&PathBuf::from("macro/src/lib.rs")).items {
            if matches!(&item, Item::Fn(function) if is_public(&function.vis)) {
                source.macros.push(item);
            }
        }
        for path in files(Path::new("src")) {
            let module = MODULES.into_iter().find(|module| is_in(&path, module)).unwrap_or("");
            for item in parsed(&path).items {
                source.take(module, item);
            }
        }
        let root = parsed(Path::new("src/lib.rs"));
        source.public.push(("", reexported(&root)));
        // The items of the file of `http` are public themselves, beside those that it re-exports.
        let http = parsed(Path::new("src/http.rs"));
        let own = http.items.iter().filter_map(public_name);
        source.public.push(("http", own.chain(reexported(&http)).collect()));
        for module in ["graph", "testing"] {
            let map = parsed(&Path::new("src").join(module).join("mod.rs"));
            source.public.push((module, reexported(&map)));
        }
        source
    }

    /// An item that a module shows. `None` if it comes from another crate.
    pub(super) fn item(&self, module: &'static str, name: &str) -> Option<&Item> {
        self.items.get(&(module, name.to_owned()))
    }

    /// The public methods of a type.
    pub(super) fn methods(&self, module: &'static str, name: &str) -> &[ImplItemFn] {
        self.methods.get(&(module, name.to_owned())).map_or(&[], Vec::as_slice)
    }

    fn take(&mut self, module: &'static str, item: Item) {
        if let Item::Impl(implementation) = item {
            let syn::Type::Path(own) = &*implementation.self_ty else { return };
            let Some(last) = own.path.segments.last().filter(|_| implementation.trait_.is_none())
            else {
                return;
            };
            let public = implementation.items.into_iter().filter_map(|item| match item {
                syn::ImplItem::Fn(method)
                    if is_public(&method.vis) && !is_hidden(&method.attrs) =>
                {
                    Some(method)
                }
                _ => None,
            });
            self.methods.entry((module, last.ident.to_string())).or_default().extend(public);
        } else if let Item::Macro(definition) = &item
            && definition.attrs.iter().any(|attribute| attribute.path().is_ident("macro_export"))
        {
            self.macros.push(item);
        } else if let Some(name) = public_name(&item) {
            self.items.insert((module, name), item);
        }
    }
}

fn is_in(path: &Path, module: &str) -> bool {
    path.starts_with(Path::new("src").join(module))
        || path == Path::new("src").join(format!("{module}.rs"))
}

/// The source files below a folder, by path, without the generated one.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(Path::new(SDK).join(folder)).expect("there is a source");
    let names = entries.map(|entry| entry.expect("it can be read").file_name());
    let mut paths: Vec<PathBuf> = names.map(|name| folder.join(name)).collect();
    paths.sort();
    let of = |path: PathBuf| match path.extension() {
        None => files(&path),
        Some(_) => vec![path],
    };
    let all = paths.into_iter().flat_map(of);
    all.filter(|path| !path.ends_with("bindings.rs") && !path.ends_with("tests.rs")).collect()
}

fn parsed(path: &Path) -> File {
    let text = fs::read_to_string(Path::new(SDK).join(path)).expect("it can be read");
    let text = if path.ends_with("call.rs") { with_options_written_out(&text) } else { text };
    syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The source with the methods expanded that a macro of `call.rs` defines for several types.
fn with_options_written_out(text: &str) -> String {
    let (before, rest) =
        text.split_once("macro_rules! with_options {").expect("there is the macro");
    let (definition, rest) = rest.split_once("\n}\n").expect("it ends");
    let (_, body) = definition.split_once("=> {").expect("it has a body");
    let body = body.trim_end().trim_end_matches("};");
    let mut written = before.to_owned();
    for line in rest.lines() {
        let Some(call) = line.strip_prefix("with_options!(") else {
            written += line;
            written += "\n";
            continue;
        };
        let mut parts = call.trim_end_matches(");").split(", ");
        let (kind, output) = (parts.next().expect("a type"), parts.next().expect("an output"));
        let generic = parts.next().map_or(String::new(), |generic| format!("<{generic}>"));
        let body = body.replace("$(<$generic>)?", &generic);
        written += &body.replace("$type", kind).replace("$output", output);
    }
    written
}

/// The names that a module re-exports from its inner modules.
fn reexported(file: &File) -> Vec<String> {
    let mut names = Vec::new();
    for item in &file.items {
        if let Item::Use(ItemUse { vis, attrs, tree: UseTree::Path(path), .. }) = item
            && is_public(vis)
            && !is_hidden(attrs)
            // The attributes, which are read from their own crate.
            && path.ident != "segno_macro"
        {
            collect(&path.ident, &path.tree, &mut names);
        }
    }
    names
}

fn collect(of: &Ident, tree: &UseTree, names: &mut Vec<String>) {
    match tree {
        UseTree::Path(path) => collect(&path.ident, &path.tree, names),
        UseTree::Name(name) if name.ident == "self" => names.push(of.to_string()),
        UseTree::Name(name) => names.push(name.ident.to_string()),
        UseTree::Group(group) => group.items.iter().for_each(|tree| collect(of, tree, names)),
        UseTree::Rename(_) | UseTree::Glob(_) => {}
    }
}

fn public_name(item: &Item) -> Option<String> {
    let (vis, name) = match item {
        Item::Struct(item) => (&item.vis, &item.ident),
        Item::Enum(item) => (&item.vis, &item.ident),
        Item::Trait(item) => (&item.vis, &item.ident),
        Item::Type(item) => (&item.vis, &item.ident),
        Item::Fn(item) => (&item.vis, &item.sig.ident),
        _ => return None,
    };
    is_public(vis).then(|| name.to_string())
}

fn is_public(vis: &Visibility) -> bool {
    matches!(vis, Visibility::Public(_))
}
