//! Compiles several crates of one workspace with one call of cargo.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use cargo_metadata::Message;

use super::{
    BuildError, BuildOptions, BuiltComponent, WorkflowCrate, componentize, package::is_module,
    units::Units,
};
use crate::{BuildProgress, TARGET, cache::Lock, cargo, process};

/// The release profile of a module: optimised for size, with link-time optimisation, and with
/// function names and lines for backtraces. A workspace's own profile for binaries is ignored.
const PROFILE: [(&str, &str); 8] = [
    ("OPT_LEVEL", "s"),
    ("LTO", "true"),
    ("CODEGEN_UNITS", "1"),
    ("PANIC", "abort"),
    ("STRIP", "none"),
    ("DEBUG", "line-tables-only"),
    ("INCREMENTAL", "false"),
    ("OVERFLOW_CHECKS", "true"),
];

/// Limits line tables to crates of the workspace. With those of the dependencies, they would be
/// three times as large.
const NO_LINES_OF_DEPENDENCIES: &str = "profile.release.package.\"*\".debug=false";

/// Size of the heap in an instance's initial memory, in bytes. Unused pages cost nothing.
const HEAP_BYTES: u32 = 128 << 10;

/// The first words of cargo's progress lines, which are omitted from errors.
const PROGRESS_WORDS: [&str; 9] = [
    "Adding",
    "Blocking",
    "Building",
    "Compiling",
    "Downloaded",
    "Downloading",
    "Locking",
    "Updating",
    "Finished",
];

/// Called by cargo in place of the compiler. Panic messages contain paths; a component should be
/// identical wherever it is built, and reveal no home directory. The remapped paths differ between
/// crates, so they cannot be among the flags that cargo knows: units compiled with different flags
/// are not shared. The user's own wrapper, such as sccache, is called with the resulting arguments.
const WRAPPER: &str = r#"#!/bin/sh
compiler=$1
shift
exec ${SEGNO_RUSTC_WRAPPER:+"$SEGNO_RUSTC_WRAPPER"} "$compiler" "--remap-path-prefix=$(pwd -P)=/workspace" \
    ${OUT_DIR:+"--remap-path-prefix=$OUT_DIR=/generated"} "$@"
"#;

/// The variable that passes the user's own wrapper to [`WRAPPER`].
const USERS_WRAPPER: &str = "SEGNO_RUSTC_WRAPPER";

/// Compiles `crates`, which all belong to one workspace, and wraps them as components, in order.
pub(super) fn compile(
    crates: &[&WorkflowCrate],
    options: BuildOptions<'_>,
    progress: &dyn BuildProgress,
) -> Result<Vec<BuiltComponent>, BuildError> {
    let target =
        options.target_directory.map_or_else(|| crates[0].target.join("guest"), Path::to_owned);
    let _lock = Lock::take(&target.join("segno.lock"), progress)?;
    let names: Vec<&str> = crates.iter().map(|one| one.package.as_str()).collect();
    let names = names.join(", ");

    let units = options.shared.and_then(|store| {
        let units = Units::new(store, &crates[0].workspace, options.toolchain);
        units.inspect_err(|error| unshared(&error, progress)).ok()
    });
    match units.as_ref().map(|units| units.lend(&target, progress)) {
        Some(Ok(true)) => progress.step("taking over dependencies that were compiled before"),
        Some(Err(error)) => unshared(&error, progress),
        Some(Ok(false)) | None => {}
    }
    progress.step(&format!("compiling {names} for {TARGET}"));
    let wrapper = wrapper(&target)?;
    let mut command = command(crates, options, &target, &wrapper);
    let finished = process::run(&mut command, None, &|line| {
        if let Some(line) = shown(line) {
            progress.line(&line);
        }
    })?;
    if !finished.success {
        let output = complaints(&finished.stderr);
        return Err(match is_unfetched(&output) {
            true => BuildError::Fetch { packages: names, output },
            false => BuildError::Compile { packages: names, output },
        });
    }
    // Parsed via `serde_json::Value`: messages are identified by a field, and with
    // arbitrary-precision numbers a direct parse would lose the numbers.
    let message = |line| serde_json::from_str(line).and_then(serde_json::from_value::<Message>);
    let messages: Vec<Message> =
        finished.stdout.lines().filter_map(|line| message(line).ok()).collect();
    if let Some(Err(error)) = units.map(|units| units.keep(&target, &messages, progress)) {
        unshared(&error, progress);
    }
    let modules = modules(&messages);
    let built = crates.iter().map(|one| wrap(one, &modules, &target));
    let mut built: Vec<BuiltComponent> = built.collect::<Result<_, _>>()?;
    if let Some(first) = built.first_mut() {
        first.warnings = complaints(&finished.stderr);
    }
    Ok(built)
}

/// True if cargo failed before compiling anything, because it could not download a dependency.
fn is_unfetched(output: &str) -> bool {
    let begins = [
        "error: failed to get `",
        "error: failed to download ",
        "error: no matching package named `",
    ];
    let why = [
        "ould not resolve host",
        "ould not connect",
        "failed to download",
        "spurious network error",
        "--offline",
    ];
    begins.iter().any(|begins| output.starts_with(begins))
        && why.iter().any(|why| output.contains(why))
}

/// Reports that the build continues without the unit store, only slower.
fn unshared(error: &dyn std::error::Error, progress: &dyn BuildProgress) {
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    progress.step(&format!("compiled dependencies are not shared: {error}{cause}"));
}

/// The path of the [`WRAPPER`] file in the target folder; writes it if needed.
fn wrapper(target: &Path) -> Result<PathBuf, BuildError> {
    let path = target.join("rustc-without-paths");
    if fs::read(&path).is_ok_and(|text| text == WRAPPER.as_bytes()) {
        return Ok(path);
    }
    let unfinished = path.with_extension("tmp");
    fs::write(&unfinished, WRAPPER)
        .and_then(|()| fs::set_permissions(&unfinished, fs::Permissions::from_mode(0o755)))
        .and_then(|()| fs::rename(&unfinished, &path))
        .map_err(|source| BuildError::Io { path: path.clone(), source })?;
    Ok(path)
}

fn command(
    crates: &[&WorkflowCrate],
    options: BuildOptions<'_>,
    target: &Path,
    wrapper: &Path,
) -> Command {
    let mut command = cargo::cargo();
    command.current_dir(&crates[0].directory).args([
        "build",
        "--release",
        "--lib",
        "--target",
        TARGET,
    ]);
    command.arg("--message-format=json-render-diagnostics").arg("--target-dir").arg(target);
    for one in crates {
        command.arg("--package").arg(&one.package);
    }
    if options.locked {
        command.arg("--locked");
    }
    // As configuration, not as a variable: a variable would replace the workspace's own flags, and
    // cannot contain a path with a space.
    command.arg("--config").arg(flags(options.toolchain.sysroot.as_deref()));
    command.arg("--config").arg(NO_LINES_OF_DEPENDENCIES);
    for (name, value) in PROFILE {
        command.env(format!("CARGO_PROFILE_RELEASE_{name}"), value);
    }
    if let Some(rustc) = &options.toolchain.rustc {
        command.env("RUSTC", rustc);
    }
    command.env("RUSTC_WRAPPER", std::path::absolute(wrapper).unwrap_or_else(|_| wrapper.into()));
    match cargo::rustc_wrapper(&crates[0].directory) {
        Some(users) => command.env(USERS_WRAPPER, users),
        None => command.env_remove(USERS_WRAPPER),
    };
    // Cargo reports the number of compiled crates only in its progress bar, which it draws only on
    // terminals.
    command.env("CARGO_TERM_PROGRESS_WHEN", "always").env("CARGO_TERM_PROGRESS_WIDTH", "100");
    command
}

/// The flags for every crate on this machine; they must not depend on the crate. See [`WRAPPER`].
fn flags(sysroot: Option<&Path>) -> String {
    let mut flags = Vec::new();
    if let Some(home) = cargo::cargo_home() {
        flags.push(format!("--remap-path-prefix={}=/cargo", home.display()));
    }
    flags.extend(sysroot.map(|sysroot| format!("--sysroot={}", sysroot.display())));
    flags.push(format!("-Clink-arg=--initial-heap={HEAP_BYTES}"));
    let flags = toml::Value::Array(flags.into_iter().map(toml::Value::String).collect());
    format!("target.{TARGET}.rustflags={flags}")
}

/// The displayed form of a line: `    Building [==>   ] 12/50: syn, serde` becomes `compiled 12 of
/// 50; now syn, serde`. `None` for lines about single crates.
fn shown(line: &str) -> Option<String> {
    if let Some((_, counted)) =
        line.split_once("Building [").and_then(|(_, bar)| bar.split_once("] "))
    {
        let (counts, names) = counted.split_once(':').unwrap_or((counted, ""));
        let (done, all) = counts.trim().split_once('/')?;
        return Some(format!("compiled {done} of {all}; now {}", names.trim()));
    }
    let word = line.trim_start().split(' ').next().unwrap_or_default();
    (word != "Compiling").then(|| line.to_owned())
}

/// Cargo's output without its progress lines.
fn complaints(stderr: &str) -> String {
    let is_progress = |line: &&str| {
        let word = line.trim_start().split(' ').next().unwrap_or_default();
        line.starts_with("  ") && PROGRESS_WORDS.contains(&word)
    };
    stderr
        .lines()
        .filter(|line| !is_progress(line))
        .collect::<Vec<_>>()
        .join("\n")
        .trim()
        .to_owned()
}

/// The module of each package, keyed by the folder of its manifest.
fn modules(messages: &[Message]) -> BTreeMap<PathBuf, PathBuf> {
    let mut modules = BTreeMap::new();
    for message in messages {
        if let Message::CompilerArtifact(artifact) = message
            && is_module(&artifact.target)
            && let Some(folder) = artifact.manifest_path.parent()
            && let Some(module) =
                artifact.filenames.iter().find(|path| path.extension() == Some("wasm"))
        {
            modules.insert(folder.into(), module.into());
        }
    }
    modules
}

fn wrap(
    one: &WorkflowCrate,
    modules: &BTreeMap<PathBuf, PathBuf>,
    target: &Path,
) -> Result<BuiltComponent, BuildError> {
    let package = one.package.clone();
    let Some(module) = modules.get(&one.directory) else {
        return Err(BuildError::NoModule { package });
    };
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| BuildError::Io { path, source }
    };
    let module = fs::read(module).map_err(failed(module))?;
    let component = componentize(&module)
        .map_err(|source| BuildError::Component { package: package.clone(), source })?;
    let folder = target.join("components");
    fs::create_dir_all(&folder).map_err(failed(&folder))?;
    let path = folder.join(format!("{package}.wasm"));
    let unfinished = folder.join(format!("{package}.wasm.tmp"));
    fs::write(&unfinished, &component).map_err(failed(&unfinished))?;
    fs::rename(&unfinished, &path).map_err(failed(&path))?;
    Ok(BuiltComponent { package, component, path, warnings: String::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiler_is_called_through_the_wrapper_of_the_user() {
        let folder = tempfile::tempdir().unwrap();
        let wrapper = wrapper(folder.path()).unwrap();
        let mut command = Command::new(wrapper);
        command.args(["echo", "lib.rs"]).env_remove("OUT_DIR").current_dir(folder.path());
        let said = |command: &mut Command| process::run(command, None, &|_| ()).unwrap().stdout;
        let here = fs::canonicalize(folder.path()).unwrap();
        let arguments = format!("--remap-path-prefix={}=/workspace lib.rs", here.display());
        command.env_remove(USERS_WRAPPER);
        assert_eq!(said(&mut command).trim(), arguments);
        command.env(USERS_WRAPPER, "echo");
        assert_eq!(said(&mut command).trim(), format!("echo {arguments}"));
    }

    #[test]
    fn flags_survive_paths_with_spaces() {
        let text = flags(Some(Path::new("/my cache/rust")));
        let table: toml::Table = text.parse().unwrap();
        let flags = table["target"][TARGET]["rustflags"].as_array().unwrap();
        assert!(flags.contains(&"--sysroot=/my cache/rust".into()));
    }

    #[test]
    fn progress_says_how_many_of_how_many_and_what() {
        let bar = "    Building [========>          ] 12/50: syn, serde_core            ";
        assert_eq!(shown(bar).unwrap(), "compiled 12 of 50; now syn, serde_core");
        assert_eq!(shown("   Compiling syn v3.0.10"), None);
        assert_eq!(shown("    Updating crates.io index").unwrap(), "    Updating crates.io index");
    }

    #[test]
    fn errors_and_warnings_are_kept_and_progress_is_not() {
        let stderr = "    Updating index\n   Compiling order v0.1.0\nwarning: unused import: `y`\n --> src/lib.rs:2:5\n\nerror[E0425]: no `x`\n --> src/lib.rs:1:1\n  |\n1 | x\n\nerror: could not compile `order`\n";
        assert_eq!(
            complaints(stderr),
            "warning: unused import: `y`\n --> src/lib.rs:2:5\n\nerror[E0425]: no `x`\n --> src/lib.rs:1:1\n  |\n1 | x\n\nerror: could not compile `order`"
        );
    }

    #[test]
    fn what_cannot_be_downloaded_is_told_from_what_does_not_compile() {
        let away = "error: failed to get `uuid` as a dependency of package `x v0.1.0 (/x)`\n\nCaused by:\n  \
                    failed to download from `https://registry.example/config.json`\n\nCaused by:\n  \
                    [7] Could not connect to server";
        let told = "error: no matching package named `uuid` found\nlocation searched: an index\n\
                    As a reminder, you're using offline mode (--offline)";
        assert!(is_unfetched(away) && is_unfetched(told));
        let misspelt =
            "error: no matching package named `uuuid` found\nlocation searched: an index";
        assert!(!is_unfetched(misspelt));
        assert!(!is_unfetched("error[E0425]: `failed to download` is not in scope"));
    }
}
