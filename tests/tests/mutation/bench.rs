//! A copy of the workspace, or of a part of it, whose sources have defects.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Mutex,
    thread,
    time::Duration,
};

use segno_core::time::Millis;
use segno_env::Env;
use serde_json::Value as Json;
use toml::{Table, Value};

use super::{
    switched::{MODULE, SWITCH, switched},
    table::Mutation,
};

/// Time limit of the tests for one defect. A defect may cause an endless loop.
const TIMEOUT: Millis = Millis::seconds(1_200);

/// Parts of the names of tests that duplicate others on a slower database.
const SKIPPED: [&str; 3] = ["postgres", "_on_sqlite", "_under_the_narrow_reading"];

/// A crate with defects, and the tests that must detect them.
pub(super) struct Part {
    /// Folder of the crate whose sources have the defects.
    pub folder: &'static str,
    /// Package with the tests.
    pub package: &'static str,
    /// Test program of that package: `--lib`, or the name of a suite.
    pub program: &'static str,
    pub mutations: &'static [Mutation],
}

/// A built copy, with its test programs.
pub(super) struct Bench {
    root: PathBuf,
    programs: BTreeMap<(&'static str, &'static str), PathBuf>,
}

/// Result of the tests for one defect.
struct Verdict {
    mutation: &'static Mutation,
    word: &'static str,
    failures: String,
}

pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

impl Bench {
    /// Copies these folders, and builds the programs of these parts with all defects in them.
    ///
    /// `members`: workspace members to keep. `None` keeps all.
    pub(super) fn build(
        name: &str,
        folders: &[&str],
        members: Option<&[&str]>,
        parts: &[Part],
    ) -> Self {
        let bench = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let mut defects: BTreeMap<PathBuf, Vec<(usize, &Mutation)>> = BTreeMap::new();
        for (number, (part, mutation)) in numbered(parts) {
            let path = Path::new(part.folder).join("src").join(mutation.file);
            defects.entry(path).or_default().push((number, mutation));
        }
        let crates: BTreeSet<&str> = parts.iter().map(|part| part.folder).collect();
        let libraries: BTreeSet<PathBuf> =
            crates.iter().map(|folder| Path::new(folder).join("src/lib.rs")).collect();
        for folder in folders {
            let edit = |path: &Path, text: String| {
                let own = defects.get(path).map(Vec::as_slice).unwrap_or_default();
                let mut text = if own.is_empty() { text } else { switched(&text, own) };
                if libraries.contains(path) {
                    text.push_str(MODULE);
                }
                text
            };
            mirror(Path::new(folder), &bench, &edit);
        }
        for entry in fs::read_dir(root()).expect("the workspace") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("entries have names");
            if path.is_file() && name != "Cargo.toml" {
                write(&bench.join(name), &fs::read(&path).expect("a file can be read"));
            }
        }
        let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("the manifest");
        write(&bench.join("Cargo.toml"), manifest_of(&manifest, members).as_bytes());
        let mut programs = BTreeMap::new();
        for part in parts {
            programs
                .entry((part.package, part.program))
                .or_insert_with(|| program(&bench, part.package, part.program));
        }
        Self { root: bench, programs }
    }

    /// Runs the tests for each defect whose description contains `words`. Returns the defects that
    /// no test detected, or that another test detected than the intended one.
    pub(super) fn survivors(&self, parts: &[Part], words: &str) -> Vec<(&'static str, String)> {
        for ((package, program), path) in &self.programs {
            let of_program =
                parts.iter().filter(|part| (part.package, part.program) == (*package, *program));
            let filters: BTreeSet<&str> = of_program
                .flat_map(|part| part.mutations)
                .filter(|mutation| mutation.what.contains(words))
                .map(|mutation| mutation.tests)
                .collect();
            let (passed, said) = self.run(package, path, 0, &Vec::from_iter(filters));
            assert!(passed, "`{package}` without any defect:\n{said}");
        }
        let wanted = numbered(parts).filter(|(_, (_, mutation))| mutation.what.contains(words));
        let queue = Mutex::new(Vec::from_iter(wanted).into_iter());
        let verdicts = Mutex::new(Vec::new());
        let lanes = thread::available_parallelism().map_or(1, usize::from);
        thread::scope(|scope| {
            for _ in 0..lanes {
                scope.spawn(|| {
                    loop {
                        let next = queue.lock().expect("no lane panics").next();
                        let Some((number, (part, mutation))) = next else { return };
                        let verdict = self.judge(part, number, mutation);
                        verdicts.lock().expect("no lane panics").push(verdict);
                    }
                });
            }
        });
        let verdicts = verdicts.into_inner().expect("no lane panics").into_iter();
        verdicts
            .filter(|verdict| verdict.word != "killed")
            .map(|verdict| (verdict.mutation.what, verdict.failures))
            .collect()
    }

    fn judge(&self, part: &Part, number: usize, mutation: &'static Mutation) -> Verdict {
        let clock = Env::system().clock;
        let begun = clock.now();
        let program = &self.programs[&(part.package, part.program)];
        let (passed, said) = self.run(part.package, program, number, &[mutation.tests]);
        // Drops the names of tests that passed or take long.
        let says_nothing =
            |line: &str| line.ends_with("... ok") || line.contains("has been running for over");
        let said = said.lines().filter(|line| !says_nothing(line)).collect::<Vec<_>>();
        let word = match (passed, said.iter().any(|line| line.contains(mutation.killer))) {
            (false, true) => "killed",
            (false, false) => "killed by another",
            (true, _) => "SURVIVED",
        };
        let took = clock.now().since(begun).0 as f64 / 1e3;
        println!("{word:<18} {took:>5.1} s  {} ({})", mutation.what, mutation.killer);
        let telling = |line: &&&str| line.contains("panicked") || line.contains("name: \"");
        let failures: Vec<String> =
            said.iter().filter(telling).map(|line| line.chars().take(400).collect()).collect();
        Verdict { mutation, word, failures: failures.join("\n") }
    }

    /// Runs the tests of a program whose names contain one of `tests`, with this defect. Returns
    /// true if they passed, and their output.
    fn run(&self, package: &str, program: &Path, defect: usize, tests: &[&str]) -> (bool, String) {
        let output = self.root.join(format!("output-{package}-{defect}"));
        let file = || File::options().append(true).create(true).open(&output).expect("a file");
        write(&output, b"");
        let mut child = Command::new(program)
            .args(tests)
            .args(SKIPPED.iter().flat_map(|word| ["--skip", word]))
            .current_dir(folder_of(&self.root, package))
            .env(SWITCH, defect.to_string())
            .env("SEGNO_SEEDS", "100")
            .env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1")
            .env("PROPTEST_MAX_SHRINK_TIME", "20000")
            .env_remove("RUST_BACKTRACE")
            .stdin(Stdio::null())
            .stdout(file())
            .stderr(file())
            .spawn()
            .expect("the program runs");
        let clock = Env::system().clock;
        let begun = clock.now();
        let status = loop {
            match child.try_wait().expect("it is our child") {
                Some(status) => break Some(status),
                None if clock.now().since(begun) > TIMEOUT => {
                    child.kill().expect("it is our child");
                    child.wait().expect("it is our child");
                    break None;
                }
                None => thread::sleep(Duration::from_millis(20)),
            }
        };
        let mut said =
            String::from_utf8_lossy(&fs::read(&output).expect("it was written")).into_owned();
        fs::remove_file(&output).expect("it was written");
        if status.is_none() {
            said.push_str("\npanicked: the tests did not end in time\n");
        }
        assert!(
            status.is_none() || said.contains("test result: "),
            "`{package}` with defect {defect} ran no tests:\n{said}"
        );
        let ran = !said.contains(" 0 passed; 0 failed;");
        assert!(ran, "`{package}` has no test whose name has one of {tests:?} in it");
        (status.is_some_and(|status| status.success()), said)
    }
}

/// Defects of these parts, numbered from 1.
fn numbered(parts: &[Part]) -> impl Iterator<Item = (usize, (&Part, &'static Mutation))> {
    let all =
        parts.iter().flat_map(|part| part.mutations.iter().map(move |mutation| (part, mutation)));
    all.enumerate().map(|(place, mutation)| (place + 1, mutation))
}

/// Manifest of the copy: only these members, and no lints, because defects leave items unused.
fn manifest_of(text: &str, members: Option<&[&str]>) -> String {
    let mut manifest: Table = text.parse().expect("a manifest is TOML");
    let workspace = manifest["workspace"].as_table_mut().expect("there is a workspace");
    if let Some(members) = members {
        for places in ["default-members", "exclude"] {
            workspace.remove(places);
        }
        workspace.insert("members".into(), Value::from(members.to_vec()));
    }
    let allowed = Table::from_iter([("warnings".to_owned(), Value::from("allow"))]);
    workspace
        .insert("lints".into(), Table::from_iter([("rust".to_owned(), allowed.into())]).into());
    // Most of the time is spent on the build.
    manifest["profile"]["dev"]["package"]["segno-core"]["opt-level"] = Value::from(1);
    manifest["profile"]["dev"]["debug"] = Value::from(0);
    manifest.to_string()
}

/// Builds a test program.
fn program(bench: &Path, package: &str, program: &str) -> PathBuf {
    let target = match program {
        "--lib" => vec!["--lib"],
        suite => vec!["--test", suite],
    };
    let output = Command::new(env!("CARGO"))
        .args(["test", "--offline", "--no-run", "--message-format", "json"])
        .args(["--package", package])
        .args(target)
        .current_dir(bench)
        .env("CARGO_TARGET_DIR", bench.join("target"))
        .env("CARGO_INCREMENTAL", "1")
        .stderr(Stdio::inherit())
        .output()
        .expect("cargo runs");
    let said = String::from_utf8_lossy(&output.stdout);
    let lines = said.lines().filter_map(|line| serde_json::from_str::<Json>(line).ok());
    let lines = Vec::from_iter(lines);
    let errors = lines.iter().filter(|line| line["message"]["level"] == "error");
    let errors: Vec<&str> =
        errors.filter_map(|line| line["message"]["rendered"].as_str()).collect();
    assert!(output.status.success(), "a defect does not compile:\n{}", errors.join("\n"));
    let tests = lines.iter().filter(|line| line["profile"]["test"] == true);
    let paths = tests.filter_map(|line| line["executable"].as_str()).map(PathBuf::from);
    let mut paths: Vec<PathBuf> = paths.collect();
    assert_eq!(paths.len(), 1, "one program: {paths:?}");
    paths.remove(0)
}

/// Folder of a package.
pub(super) fn folder_of(root: &Path, package: &str) -> PathBuf {
    match package.strip_prefix("segno-") {
        Some(layer) => root.join("host").join(layer),
        None if package == "segno" => root.join("host"),
        None => root.join(package),
    }
}

/// Mirrors a folder of the workspace into the copy, with edited sources. Unchanged files are not
/// touched, so that cargo rebuilds only changed ones.
fn mirror(folder: &Path, bench: &Path, edit: &dyn Fn(&Path, String) -> String) {
    let (from, to) = (root().join(folder), bench.join(folder));
    fs::create_dir_all(&to).expect("a directory");
    let names = |path: &Path| -> BTreeSet<_> {
        let entries = fs::read_dir(path).expect("a directory");
        entries.map(|entry| entry.expect("an entry").file_name()).collect()
    };
    let wanted = names(&from);
    for gone in names(&to).difference(&wanted) {
        let path = to.join(gone);
        let removed =
            if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.expect("what is gone can be removed");
    }
    for name in wanted {
        let (inner, path) = (folder.join(&name), from.join(&name));
        if path.is_dir() {
            if name != "target" && name != "node_modules" {
                mirror(&inner, bench, edit);
            }
            continue;
        }
        let content = fs::read(&path).expect("a file can be read");
        let content = match (name.to_string_lossy().ends_with(".rs"), String::from_utf8(content)) {
            (true, Ok(text)) => edit(&inner, text).into_bytes(),
            (_, Ok(text)) => text.into_bytes(),
            (_, Err(other)) => other.into_bytes(),
        };
        write(&to.join(&name), &content);
        let permissions = fs::metadata(&path).expect("a file").permissions();
        fs::set_permissions(to.join(&name), permissions).expect("our own file");
    }
}

/// Writes a file, unless it already has this content.
fn write(path: &Path, content: &[u8]) {
    if fs::read(path).is_ok_and(|present| present == content) {
        return;
    }
    fs::create_dir_all(path.parent().expect("it is in a directory")).expect("a directory");
    fs::write(path, content).expect("a file");
}
