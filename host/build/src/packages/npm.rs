//! `@segno/sdk` for npm: its TypeScript is compiled in the cache, and `npm pack` makes the archive.

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use include_dir::{Dir, include_dir};
use segno_core::id::Digest;
use serde::Deserialize;

use super::{LICENSE, SdkPackage, files};
use crate::{
    BuildProgress, Language,
    process::{self, ToolOutput},
    script::{ScriptError, failed, javascript, tools::Tools, write},
};

static SOURCES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../sdks/typescript/src");
const MANIFEST: &str = include_str!("../../../../sdks/typescript/package.json");
const SETTINGS: &str = include_str!("../../../../sdks/typescript/tsconfig.json");
const README: &str = include_str!("../../../../sdks/typescript/README.md");

/// Development dependencies of the package that compile it; the others are for its tests.
const COMPILER: [&str; 2] = ["typescript", "@types/node"];

#[derive(Deserialize)]
struct NpmManifest {
    version: String,
    dependencies: BTreeMap<String, String>,
    #[serde(rename = "devDependencies")]
    development: BTreeMap<String, String>,
}

impl NpmManifest {
    fn of_sdk() -> Self {
        serde_json::from_str(MANIFEST).expect("the package's manifest is complete")
    }

    /// The packages that the compilation needs, with their versions.
    fn needed(&self) -> BTreeMap<&str, &str> {
        let compiler = COMPILER.iter().map(|name| {
            let version = self.development.get(*name);
            (*name, version.expect("the package is compiled with it").as_str())
        });
        let used = self.dependencies.iter().map(|(name, version)| (&**name, &**version));
        used.chain(compiler).collect()
    }

    /// The name that `npm pack` gives the archive.
    fn archive(&self) -> String {
        format!("segno-sdk-{}.tgz", self.version)
    }

    fn tools(&self) -> Tools {
        let compiler = format!("typescript {}", self.needed()["typescript"]);
        let parts = sources().into_iter().flat_map(|(path, bytes)| [path.into_bytes(), bytes]);
        let parts: Vec<Vec<u8>> = parts.collect();
        let digest = Digest::of_parts(&parts.iter().map(Vec::as_slice).collect::<Vec<_>>());
        Tools {
            language: Language::JavaScript,
            versions: format!("@segno/sdk {digest}"),
            client: "npm",
            by_hand: format!("npm install --save-dev {}", compiler.replace(' ', "@")),
            names: compiler,
        }
    }
}

/// The files of the package, with paths relative to its folder.
fn sources() -> Vec<(String, Vec<u8>)> {
    let texts = [("tsconfig.json", SETTINGS), ("README.md", README), ("LICENSE", LICENSE)];
    let texts = texts.map(|(path, text)| (path.to_owned(), text.into()));
    let sources = files(&SOURCES, &["ts"]).into_iter();
    let sources = sources.map(|(path, bytes)| (format!("src/{path}"), bytes.to_vec()));
    let manifest = [("package.json".to_owned(), MANIFEST.into())];
    texts.into_iter().chain(sources).chain(manifest).collect()
}

pub(super) fn package(progress: &dyn BuildProgress) -> Result<SdkPackage, ScriptError> {
    let manifest = NpmManifest::of_sdk();
    let tools = manifest.tools();
    let folder = tools.in_cache(true, progress, |folder| {
        javascript::check_node()?;
        compile(folder, &manifest, &tools, progress)
    })?;
    let file = manifest.archive();
    let path = folder.join(&file);
    Ok(SdkPackage { bytes: fs::read(&path).map_err(failed(&path))?, file })
}

/// Writes the archive into `folder`, and leaves nothing else there.
fn compile(
    folder: &Path,
    manifest: &NpmManifest,
    tools: &Tools,
    progress: &dyn BuildProgress,
) -> Result<(), ScriptError> {
    let work = folder.join("work");
    let needed = serde_json::json!({ "private": true, "dependencies": manifest.needed() });
    write(&work.join("package.json"), &needed.to_string())?;
    let run = |command: &mut Command| {
        process::run(command.current_dir(&work), None, &|line| progress.line(line))
    };
    let mut install = Command::new("npm");
    install.args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--ignore-scripts"]);
    // The compiler itself is an optional dependency, one for each platform.
    install.args(["--no-package-lock", "--include=optional"]);
    let finished = run(&mut install).map_err(|error| javascript::missing(error.to_string()))?;
    if !finished.success {
        return Err(tools.refused(&finished));
    }
    progress.step(&format!("compiling @segno/sdk {}, once", manifest.version));
    for (path, bytes) in sources() {
        let path = work.join(path);
        fs::create_dir_all(path.parent().unwrap_or(&work)).map_err(failed(&path))?;
        fs::write(&path, bytes).map_err(failed(&path))?;
    }
    let compiled = run(Command::new("node").args(["node_modules/typescript/bin/tsc", "-p", "."]))?;
    succeed(&compiled, manifest)?;
    let packed = run(Command::new("npm").args(["pack", "--ignore-scripts", "--loglevel=error"]))?;
    succeed(&packed, manifest)?;
    let (made, archive) = (work.join(manifest.archive()), folder.join(manifest.archive()));
    fs::rename(&made, &archive).map_err(failed(&made))?;
    fs::remove_dir_all(&work).map_err(failed(&work))
}

fn succeed(finished: &ToolOutput, manifest: &NpmManifest) -> Result<(), ScriptError> {
    if finished.success {
        return Ok(());
    }
    let output = format!("{}\n{}", finished.stdout.trim(), finished.stderr.trim());
    let name = format!("@segno/sdk {}", manifest.version);
    Err(ScriptError::Build { name, output: output.trim().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_has_all_its_sources_and_is_compiled_with_what_it_was_tested_with() {
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdks/typescript");
        let sources = sources();
        for (path, bytes) in sources.iter().filter(|(path, _)| path != "LICENSE") {
            assert_eq!(&fs::read(own.join(path)).unwrap(), bytes, "{path}");
        }
        let in_folder = crate::packages::count(&own.join("src"), "ts");
        assert_eq!(sources.len(), in_folder + 4, "touch packages/npm.rs: a source is new");
        let manifest = NpmManifest::of_sdk();
        let needed = manifest.needed();
        assert!(needed.contains_key("whatwg-url-minimum") && needed.contains_key("typescript"));
        assert!(!needed.contains_key("esbuild"));
    }
}
