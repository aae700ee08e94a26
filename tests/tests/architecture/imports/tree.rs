//! The modules of a crate, and the files that define their names.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use super::{
    graph::Graph,
    source::{Import, Source},
};

/// Returns the text of a file, or `None` if the file does not exist.
pub(super) type Read<'a> = dyn Fn(&Path) -> Option<String> + 'a;

/// Maximum number of imports through which a name is followed.
const DEPTH: usize = 20;

/// A module, with its own file or inside the file of another module.
#[derive(Debug)]
struct Module {
    /// Index of the file in [`Tree::files`].
    file: usize,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    source: Source,
}

/// The crate below one root, such as `lib.rs`.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// The files by index. The first is the root.
    files: Vec<PathBuf>,
    modules: Vec<Module>,
}

/// The target of a path.
#[derive(Debug, Clone, Copy)]
enum Target {
    Module,
    /// An item in the module with this index.
    Item(usize),
}

impl Tree {
    /// Reads a crate from its root.
    ///
    /// # Panics
    /// A module has no file, or a file is not Rust.
    pub(super) fn load(root: &Path, read: &Read<'_>) -> Self {
        let mut tree = Self::default();
        let (file, source) = tree.add_file(&[root.to_owned()], read);
        let folder = root.parent().expect("the root is a file");
        tree.add_module(source, file, folder, None, read);
        tree
    }

    /// Adds the first of these files that exists.
    fn add_file(&mut self, paths: &[PathBuf], read: &Read<'_>) -> (usize, Source) {
        let found = paths.iter().find_map(|path| Some((path, read(path)?)));
        let (path, text) = found.unwrap_or_else(|| panic!("there is none of {paths:?}"));
        let source = Source::parse(&text);
        let source = source.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        self.files.push(path.clone());
        (self.files.len() - 1, source)
    }

    /// Adds a module and the modules that it declares, whose files are in `folder`. Returns the
    /// index of the module.
    fn add_module(
        &mut self,
        mut source: Source,
        file: usize,
        folder: &Path,
        parent: Option<usize>,
        read: &Read<'_>,
    ) -> usize {
        let declared = std::mem::take(&mut source.modules);
        let module = self.modules.len();
        self.modules.push(Module { file, parent, children: BTreeMap::new(), source });
        for (name, body) in declared {
            let inner = folder.join(&name);
            let (file, source) = body.map_or_else(
                || {
                    let paths = [folder.join(format!("{name}.rs")), inner.join("mod.rs")];
                    self.add_file(&paths, read)
                },
                |body| (file, body),
            );
            let child = self.add_module(source, file, &inner, Some(module), read);
            self.modules[module].children.insert(name, child);
        }
        module
    }

    /// The imports between files, with the imported names. The root is left out, since it only
    /// lists the modules of the crate.
    pub(super) fn graph(&self) -> Graph {
        let mut graph = Graph::new(&self.files);
        for (module, Module { file, source, .. }) in self.modules.iter().enumerate() {
            let imports = source.imports.iter().filter(|import| self.is_used(module, import));
            let imports = imports.map(|import| &import.path);
            let paths = source.paths.iter().filter(|path| self.is_import(module, path));
            for path in imports.chain(paths) {
                let Some(Target::Item(owner)) = self.resolve(module, path, DEPTH) else { continue };
                let owner = self.modules[owner].file;
                // The first is the root.
                if owner != *file && owner != 0 && *file != 0 {
                    graph.add(*file, owner, path.join("::"));
                }
            }
        }
        graph
    }

    /// True if the module itself uses an import. A re-export may serve other modules only.
    fn is_used(&self, module: usize, import: &Import) -> bool {
        let Some(name) = &import.name else { return !import.is_reexport };
        let mut paths = self.modules[module].source.paths.iter();
        !import.is_reexport || paths.any(|path| path.first() == Some(name))
    }

    /// True if a path in code is itself an import: it has several segments, or its only segment may
    /// come from a `*` import.
    fn is_import(&self, module: usize, path: &[String]) -> bool {
        let [name] = path else { return true };
        let Module { children, source, .. } = &self.modules[module];
        let mut imports = source.imports.iter();
        !source.items.contains(name)
            && !children.contains_key(name)
            && !imports.any(|import| import.name.as_ref() == Some(name))
    }

    fn resolve(&self, from: usize, path: &[String], depth: usize) -> Option<Target> {
        let mut module = from;
        let mut path = path;
        let mut is_local = true;
        while let [first, rest @ ..] = path {
            module = match &**first {
                "crate" => 0,
                "self" => module,
                "super" => self.modules[module].parent?,
                _ => break,
            };
            (path, is_local) = (rest, false);
        }
        let found = self.lookup(module, path, depth.checked_sub(1)?);
        // An item that a macro creates is in the module of the path. A path that begins with a name
        // may lead outside the crate.
        found.or((!is_local).then_some(Target::Item(module)))
    }

    /// The target of a path whose first segment is a name in the module.
    fn lookup(&self, module: usize, path: &[String], depth: usize) -> Option<Target> {
        let [name, rest @ ..] = path else { return Some(Target::Module) };
        let Module { children, source, .. } = &self.modules[module];
        let child = children.get(name).copied();
        if let Some(child) = child
            && !rest.is_empty()
        {
            return Some(self.lookup(child, rest, depth).unwrap_or(Target::Item(child)));
        }
        if source.items.contains(name) {
            return Some(Target::Item(module));
        }
        let named = source.imports.iter().filter(|import| import.name.as_ref() == Some(name));
        let named = named.map(|import| [&import.path, rest].concat());
        let globs = source.imports.iter().filter(|import| import.name.is_none());
        let mut globs = globs.map(|import| [&import.path, path].concat());
        let mut named = named.filter(|found| **found != *path);
        let found = named.find_map(|path| self.resolve(module, &path, depth));
        let found = found.or_else(|| child.map(|_| Target::Module));
        found.or_else(|| globs.find_map(|path| self.resolve(module, &path, depth)))
    }
}
