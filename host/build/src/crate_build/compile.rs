//! Compiles several crates of one workspace in one call of cargo.

use std::{
    collections::BTreeMap,
    fs,
    io::BufReader,
    path::{Path, PathBuf},
    process::Command,
};

use cargo_metadata::Message;

use super::{BuildError, BuildOptions, Built, WorkflowCrate, componentize, package::is_module};
use crate::{Progress, TARGET, cache::Lock, cargo, process};

/// The release profile of a module: small, whole, and with the names and lines of its functions for
/// backtraces. A workspace's own profile for binaries is ignored.
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

/// Lines are kept for the crates of the workspace only: those of their dependencies, which nobody
/// looks for, would make the tables three times as large.
const NO_LINES_OF_DEPENDENCIES: &str = "profile.release.package.\"*\".debug=false";

/// Size of the heap in an instance's initial memory, in bytes. Unused pages of it cost nothing.
const HEAP_BYTES: u32 = 128 << 10;

/// The first words of cargo's progress lines, which are omitted from errors.
const PROGRESS_WORDS: [&str; 8] = [
    "Adding",
    "Blocking",
    "Compiling",
    "Downloaded",
    "Downloading",
    "Locking",
    "Updating",
    "Finished",
];

/// Compiles and wraps `crates`, which all belong to one workspace, in order.
pub(super) fn compile(
    crates: &[&WorkflowCrate],
    options: BuildOptions<'_>,
    progress: &dyn Progress,
) -> Result<Vec<Built>, BuildError> {
    let target =
        options.target_directory.map_or_else(|| crates[0].target.join("guest"), Path::to_owned);
    let _lock = Lock::take(&target.join("segno.lock"), progress)?;
    let names: Vec<&str> = crates.iter().map(|one| one.package.as_str()).collect();
    let names = names.join(", ");
    progress.step(&format!("compiling {names} for {TARGET}"));

    let mut command = command(crates, options, &target);
    let finished = process::run(&mut command, None, &|line| progress.line(line))?;
    if !finished.success {
        return Err(BuildError::Compile { packages: names, output: complaints(&finished.stderr) });
    }
    let modules = modules(&finished.stdout);
    let built = crates.iter().map(|one| wrap(one, &modules, &target));
    let mut built: Vec<Built> = built.collect::<Result<_, _>>()?;
    if let Some(first) = built.first_mut() {
        first.warnings = complaints(&finished.stderr);
    }
    Ok(built)
}

fn command(crates: &[&WorkflowCrate], options: BuildOptions<'_>, target: &Path) -> Command {
    let workspace = &crates[0].workspace;
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
    // As configuration and not as a variable: a variable would replace the workspace's own flags,
    // and cannot carry a path with a space.
    command.arg("--config").arg(flags(workspace, options.toolchain.sysroot.as_deref()));
    command.arg("--config").arg(NO_LINES_OF_DEPENDENCIES);
    for (name, value) in PROFILE {
        command.env(format!("CARGO_PROFILE_RELEASE_{name}"), value);
    }
    if let Some(rustc) = &options.toolchain.rustc {
        command.env("RUSTC", rustc);
    }
    command
}

fn flags(workspace: &Path, sysroot: Option<&Path>) -> String {
    let mut flags = Vec::new();
    // Panic messages contain paths; a component should be the same wherever it is built, and reveal
    // no home directory.
    if let Some(home) = cargo::cargo_home() {
        flags.push(format!("--remap-path-prefix={}=/cargo", home.display()));
    }
    flags.push(format!("--remap-path-prefix={}=/workspace", workspace.display()));
    flags.extend(sysroot.map(|sysroot| format!("--sysroot={}", sysroot.display())));
    flags.push(format!("-Clink-arg=--initial-heap={HEAP_BYTES}"));
    let flags = toml::Value::Array(flags.into_iter().map(toml::Value::String).collect());
    format!("target.{TARGET}.rustflags={flags}")
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

/// The module of each package, by the folder of its manifest.
fn modules(messages: &str) -> BTreeMap<PathBuf, PathBuf> {
    let messages = Message::parse_stream(BufReader::new(messages.as_bytes())).map_while(Result::ok);
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
) -> Result<Built, BuildError> {
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
    Ok(Built { package, component, path, warnings: String::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_survive_paths_with_spaces() {
        let text = flags(Path::new("/my work"), Some(Path::new("/my cache/rust")));
        let table: toml::Table = text.parse().unwrap();
        let flags = table["target"][TARGET]["rustflags"].as_array().unwrap();
        assert!(flags.contains(&"--remap-path-prefix=/my work=/workspace".into()));
        assert!(flags.contains(&"--sysroot=/my cache/rust".into()));
    }

    #[test]
    fn errors_and_warnings_are_kept_and_progress_is_not() {
        let stderr = "    Updating index\n   Compiling order v0.1.0\nwarning: unused import: `y`\n --> src/lib.rs:2:5\n\nerror[E0425]: no `x`\n --> src/lib.rs:1:1\n  |\n1 | x\n\nerror: could not compile `order`\n";
        assert_eq!(
            complaints(stderr),
            "warning: unused import: `y`\n --> src/lib.rs:2:5\n\nerror[E0425]: no `x`\n --> src/lib.rs:1:1\n  |\n1 | x\n\nerror: could not compile `order`"
        );
    }
}
