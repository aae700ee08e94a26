//! Who knows whom: the arrows of knowledge, read from the sources.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// Every Rust file under `folder`, without tests.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
    {
        let path = entry.expect("the folder can be read").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() && name != "tests" {
            files.extend(sources(&path));
        } else if name.ends_with(".rs") && name != "tests.rs" {
            files.push(path);
        }
    }
    files
}

/// The modules of its crate, by their first name, that the code of a file names after `crate::` or `super::super::…`;
/// tests at its bottom and comments left out. `depth`: how many modules the file's own is below the crate.
fn known(source: &str, depth: usize) -> BTreeSet<String> {
    let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or(source);
    let code: Vec<&str> =
        code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = code.join(" ");
    let outside = "super::".repeat(depth);
    let mut found = BTreeSet::new();
    for prefix in ["crate::", outside.as_str()] {
        if prefix.is_empty() {
            continue;
        }
        for (at, _) in code.match_indices(prefix) {
            let longer =
                code[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | ':'));
            if !longer {
                found.extend(first_names(&code[at + prefix.len()..]));
            }
        }
    }
    found
}

/// `worker::x` names `worker`; `{a::b, c}` names `a` and `c`.
fn first_names(path: &str) -> Vec<String> {
    let word = |text: &str| -> String {
        text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let Some(group) = path.strip_prefix('{') else { return vec![word(path)] };
    let mut names = Vec::new();
    let mut depth = 0_u32;
    let mut begins = true;
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => begins = true,
            c if c.is_whitespace() => {}
            _ if begins => {
                names.push(word(&group[at..]));
                begins = false;
            }
            _ => {}
        }
    }
    names
}

/// What the files of a module, a file or a folder, name of their crate.
fn knows(root: &str, module: &str) -> Vec<(PathBuf, BTreeSet<String>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(root);
    let folder = root.join(module);
    let mut files = if folder.is_dir() { sources(&folder) } else { Vec::new() };
    let file = root.join(format!("{module}.rs"));
    files.extend(file.is_file().then_some(file));
    assert!(!files.is_empty(), "there is no module `{module}` in {}", root.display());
    let read = |path: PathBuf| {
        let inside = path.strip_prefix(&root).expect("it lies below").with_extension("");
        let is_map = inside.ends_with("mod");
        let depth = inside.components().count() - usize::from(is_map);
        let source = fs::read_to_string(&path).expect("a source is text");
        let known = known(&source, depth);
        (path, known)
    };
    files.into_iter().map(read).collect()
}

fn assert_knows_none(root: &str, module: &str, strangers: &[&str]) {
    for (path, known) in knows(root, module) {
        for stranger in strangers {
            assert!(!known.contains(*stranger), "{} knows `{stranger}`", path.display());
        }
    }
}

/// What stands at the top and may know everything.
const TOP: [&str; 7] = ["cli", "boot", "demo", "bench", "client", "build", "main"];

#[test]
fn the_engine_does_not_know_the_api_and_neither_knows_the_command_line() {
    for (module, strangers) in [
        ("hub", &["api", "worker", "recovery", "guest"][..]),
        ("host", &["api", "worker", "recovery"]),
        ("worker", &["api", "recovery"]),
        ("recovery", &["api", "worker", "guest"]),
        ("api", &["recovery"]),
    ] {
        assert_knows_none("host/src", module, strangers);
        assert_knows_none("host/src", module, &TOP);
    }
}

#[test]
fn promises_and_invocations_are_siblings_that_do_not_know_each_other() {
    let above = ["transition", "state", "command", "reply", "delta", "effect", "footprint"];
    assert_knows_none("host/core/src", "promise", &["invocation"]);
    assert_knows_none("host/core/src", "invocation", &["promise"]);
    for module in ["promise", "invocation", "id", "time", "value", "tags", "address"] {
        assert_knows_none("host/core/src", module, &above);
    }
}

#[test]
fn the_core_knows_nothing_of_the_outside() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/core/src");
    for path in sources(&root) {
        let source = fs::read_to_string(&path).expect("a source is text");
        for stranger in ["tokio", "sqlx", "wasmtime", "segno::", "std::time", "std::fs", "async fn"]
        {
            let named = source
                .lines()
                .any(|line| !line.trim_start().starts_with("//") && line.contains(stranger));
            assert!(!named, "{} knows `{stranger}`", path.display());
        }
    }
}

#[test]
fn names_are_found_wherever_they_stand() {
    let source = "use crate::{\n    store::{Store, worker::X},\n    hub,\n};\n// crate::api\nfn f() { crate::guest::g(); super::super::host::h(); }";
    let known = known(source, 2);
    let expected = ["guest", "host", "hub", "store"].map(str::to_owned);
    assert_eq!(known, BTreeSet::from(expected));
}
