//! Builds JavaScript projects. esbuild bundles the source, driven by `build.mjs` with Node. The
//! bundle is the module: the runtime that loads it, QuickJS with `runtime.js`, is built once by
//! componentize-qjs.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use segno_core::{id::Digest, source_module::SourceModule};
use serde::Deserialize;

use super::{
    ScriptError, ScriptProject, failed, runtimes, shims,
    tools::{Tools, asked},
    write,
};
use crate::{BuildProgress, Language, process};

/// The only file of a module.
const BUNDLE: &str = "bundle.js";
const DRIVER: &str = include_str!("build.mjs");
const WANTED: &str = "Node 20 or newer with npm";
const OLDEST_NODE: u32 = 20;
const INSTALL: &str = "apt-get install nodejs npm";

#[derive(Deserialize)]
struct PackageManifest {
    name: Option<String>,
    main: Option<PathBuf>,
    #[serde(default, rename = "devDependencies")]
    development: BTreeMap<String, String>,
}

/// The name in `package.json`, without its scope; the source file it specifies; and a hint for the
/// author.
pub(super) fn manifest(
    folder: &Path,
) -> Result<(Option<String>, PathBuf, &'static str), ScriptError> {
    let path = folder.join("package.json");
    let text = fs::read(&path).map_err(failed(&path))?;
    let manifest: PackageManifest = serde_json::from_slice(&text)
        .map_err(|error| ScriptError::Manifest { manifest: path, why: error.to_string() })?;
    let unscoped = |name: String| name.rsplit('/').next().unwrap_or(&name).to_owned();
    let hint = match manifest.main {
        Some(_) => "`main` of package.json names it",
        None => "name the source that exports `functions` in package.json, as `main`",
    };
    let entry = manifest.main.unwrap_or_else(|| usual_entry(folder));
    Ok((manifest.name.map(unscoped), entry, hint))
}

/// The source of a project whose manifest names none.
fn usual_entry(folder: &Path) -> PathBuf {
    let usual = ["workflow.js", "src/index.ts", "src/index.js"].map(PathBuf::from);
    let found = usual.iter().find(|entry| folder.join(entry).is_file());
    found.unwrap_or(&usual[0]).clone()
}

/// Builds the module. Returns its stored form, and warnings about the source.
pub(super) fn build(
    project: &ScriptProject,
    work: &Path,
    prepare: bool,
    progress: &dyn BuildProgress,
) -> Result<(Vec<u8>, String), ScriptError> {
    check_node()?;
    let tools = match in_project(&project.folder) {
        Some(folder) => folder,
        None => tools().in_cache(prepare, progress, |folder| install(folder, progress))?,
    };
    let runtime = runtime(&tools, work, progress)?;
    let (driver, promises) = (work.join("build.mjs"), work.join("promise.js"));
    write(&driver, DRIVER)?;
    write(&promises, shims::PROMISES)?;
    progress.step(&format!("bundling {} with esbuild", project.name));
    let bundle = work.join(BUNDLE);
    let mut command = Command::new("node");
    command.current_dir(&project.folder).arg(&driver).arg(&tools).arg(&project.entry);
    command.arg(&promises).arg(&bundle);
    let finished = process::run(&mut command, None, &|_| ())?;
    let said = finished.stderr.trim().to_owned();
    if !finished.success {
        return Err(ScriptError::Build { name: project.name.clone(), output: said });
    }
    let source = fs::read(&bundle).map_err(failed(&bundle))?;
    let module = SourceModule::new(runtime, vec![(BUNDLE.to_owned(), source)]);
    Ok((module.expect("it is one file").encode(), said))
}

/// The digest of the runtime that componentize-qjs in `tools` builds.
fn runtime(tools: &Path, work: &Path, progress: &dyn BuildProgress) -> Result<Digest, ScriptError> {
    let manifest = tools.join("node_modules/componentize-qjs/package.json");
    let version = fs::read(&manifest).map_err(failed(&manifest))?;
    let parts = [&version[..], shims::JAVASCRIPT_RUNTIME.as_bytes(), shims::CONTRACT.as_bytes()];
    let key = Digest::of_parts(&parts).to_string();
    runtimes::in_cache(Language::JavaScript, &key[..16], progress, |path| {
        progress.step("building the runtime of JavaScript, once");
        let source = work.join("runtime.js");
        write(&source, shims::JAVASCRIPT_RUNTIME)?;
        let mut command = Command::new(tools.join("node_modules/.bin/componentize-qjs"));
        command.arg("--wit").arg(work.join("wit/0.2.0")).args(["--world", "language-runtime"]);
        command.arg("--js").arg(&source).arg("--module-root").arg(work);
        let finished = process::run(command.arg("--sync").arg("-o").arg(path), None, &|_| ())?;
        match finished.success {
            true => Ok(()),
            false => Err(ScriptError::Build {
                name: "the runtime of JavaScript".to_owned(),
                output: finished.stderr,
            }),
        }
    })
}

/// The nearest folder whose `node_modules` has both tools: the project's, or that of an enclosing
/// workspace.
fn in_project(folder: &Path) -> Option<PathBuf> {
    let has_all = |folder: &&Path| {
        ["esbuild", "componentize-qjs"]
            .iter()
            .all(|name| folder.join("node_modules").join(name).is_dir())
    };
    folder.ancestors().find(has_all).map(Path::to_owned)
}

fn tools() -> Tools {
    let manifest: PackageManifest =
        serde_json::from_str(shims::JAVASCRIPT_TOOLS).expect("the example's manifest is JSON");
    let all = |between: &str| -> Vec<String> {
        let packages = manifest.development.iter();
        packages.map(|(name, version)| format!("{name}{between}{version}")).collect()
    };
    Tools {
        language: Language::JavaScript,
        names: all(" ").join(" and "),
        versions: all(" ").join("\n"),
        client: "npm",
        by_hand: format!("npm install --save-dev {}", all("@").join(" ")),
    }
}

fn install(folder: &Path, progress: &dyn BuildProgress) -> Result<(), ScriptError> {
    let tools = tools();
    write(&folder.join("package.json"), "{\"private\": true}\n")?;
    let mut npm = Command::new("npm");
    npm.current_dir(folder).args(["install", "--no-audit", "--no-fund", "--loglevel=error"]);
    // The packages do not need their install scripts.
    npm.args(["--ignore-scripts", "--save-exact"]);
    npm.args(tools.versions.lines().map(|line| line.replace(' ', "@")));
    let finished = process::run(&mut npm, None, &|line| progress.line(line))
        .map_err(|error| missing(error.to_string()))?;
    if finished.success { Ok(()) } else { Err(tools.refused(&finished)) }
}

/// Refuses an absent or old Node.
pub(crate) fn check_node() -> Result<(), ScriptError> {
    let answer = process::run(Command::new("node").arg("--version"), None, &|_| ());
    let version = asked(answer, "node --version").map_err(missing)?;
    match too_old(&version) {
        true => Err(missing(format!("this is Node {version}"))),
        false => Ok(()),
    }
}

/// True if a version such as `v18.19.0` is too old.
fn too_old(version: &str) -> bool {
    let major =
        version.trim_start_matches('v').split('.').next().and_then(|text| text.parse().ok());
    major.is_none_or(|major: u32| major < OLDEST_NODE)
}

/// The error for Node or npm that is absent or too old.
pub(crate) fn missing(found: String) -> ScriptError {
    ScriptError::NoInterpreter {
        language: Language::JavaScript,
        wanted: WANTED,
        found,
        install: INSTALL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tools_are_those_of_the_example() {
        let tools = tools();
        assert!(tools.names.starts_with("componentize-qjs 0."), "{}", tools.names);
        assert!(tools.by_hand.contains(" esbuild@0."), "{}", tools.by_hand);
    }

    #[test]
    fn an_old_node_is_refused_and_the_error_says_what_to_install() {
        assert!(too_old("v18.19.0") && too_old("") && !too_old("v20.1.0") && !too_old("v24.0.0"));
        assert_eq!(
            missing("this is Node v18.19.0".to_owned()).to_string(),
            "JavaScript needs Node 20 or newer with npm, and this is Node v18.19.0; install it, for example with `apt-get install nodejs npm`"
        );
    }

    #[test]
    fn tools_of_the_project_or_of_its_workspace_are_found() {
        let root = tempfile::tempdir().unwrap();
        let project = root.path().join("flows/order");
        for name in ["flows/order/node_modules/esbuild", "node_modules/esbuild"] {
            fs::create_dir_all(root.path().join(name)).unwrap();
        }
        assert_eq!(in_project(&project), None);
        fs::create_dir_all(root.path().join("node_modules/componentize-qjs")).unwrap();
        assert_eq!(in_project(&project).as_deref(), Some(root.path()));
    }
}
