//! Deliberate defects in the rules: each must be detected, and by the predicate or test intended
//! for it.
//!
//! `cargo test` checks that every defect can still be put in. The long form puts them in, one after the other, into a
//! copy of the core, and runs its tests:
//! `cargo test -p tests --test mutation -- --ignored --nocapture`
//! (`SEGNO_MUTATION=words` for those whose description has these words).

mod table;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use table::{MUTATIONS, Mutation};
use toml::{Table, Value};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn rules() -> PathBuf {
    root().join("host/core")
}

impl Mutation {
    /// The file with the defect in it.
    fn applied(&self, text: &str) -> String {
        let times = text.matches(self.says).count();
        assert_eq!(
            times, 1,
            "`{}`: {} says {:?} {times} times, not once; mend the table",
            self.what, self.file, self.says
        );
        text.replacen(self.says, self.would_say, 1)
    }
}

#[test]
fn every_defect_can_be_put_in() {
    assert!(MUTATIONS.len() >= 30, "{}", MUTATIONS.len());
    let tests = sources(&rules().join("src"));
    for mutation in MUTATIONS {
        let text = fs::read_to_string(rules().join("src").join(mutation.file));
        let text = text.unwrap_or_else(|error| panic!("{}: {error}", mutation.file));
        assert_ne!(mutation.applied(&text), text, "`{}` changes nothing", mutation.what);
        assert!(
            tests.contains(mutation.killer),
            "`{}` should be noticed by {:?}, which is nowhere",
            mutation.what,
            mutation.killer
        );
    }
}

/// All sources in a directory, one after the other.
fn sources(directory: &Path) -> String {
    let mut all = String::new();
    for entry in fs::read_dir(directory).expect("a directory of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            all.push_str(&sources(&path));
        } else {
            all.push_str(&fs::read_to_string(&path).expect("sources are text"));
        }
    }
    all
}

/// A workspace with nothing but the core in it.
struct Bench {
    root: PathBuf,
}

impl Bench {
    fn set() -> Self {
        let bench = Self { root: Path::new(env!("CARGO_TARGET_TMPDIR")).join("mutation") };
        let core = bench.root.join("host/core");
        // What an earlier run left may be half a defect.
        if core.exists() {
            fs::remove_dir_all(&core).expect("the old copy can be removed");
        }
        copy(&rules(), &core);
        let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("the manifest");
        let mut manifest: Table = manifest.parse().expect("a manifest is TOML");
        let workspace = manifest["workspace"].as_table_mut().expect("there is a workspace");
        for places in ["default-members", "exclude"] {
            workspace.remove(places);
        }
        workspace.insert("members".into(), Value::from(vec!["host/core"]));
        // Optimising costs more than it saves here.
        manifest["profile"]["dev"]["package"]["segno-core"]["opt-level"] = Value::from(0);
        let manifest = manifest.to_string();
        fs::write(bench.root.join("Cargo.toml"), manifest).expect("a manifest");
        fs::copy(root().join("Cargo.lock"), bench.root.join("Cargo.lock")).expect("the lock file");
        bench
    }

    /// Runs the core's tests whose names have one of these in them; answers whether they passed, and what they said.
    fn test(&self, filters: &[&str]) -> (bool, String) {
        let output = Command::new(env!("CARGO"))
            .args(["test", "--offline", "--package", "segno-core", "--lib", "--"])
            .args(filters)
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", self.root.join("target"))
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("CARGO_INCREMENTAL", "1")
            .env_remove("RUST_BACKTRACE")
            .output()
            .expect("cargo runs");
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&said).into_owned())
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("a directory") {
        let path = entry.expect("an entry").path();
        let target = to.join(path.file_name().expect("entries have names"));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).expect("a file can be copied");
        }
    }
}

#[test]
#[ignore = "builds the core once for every defect: ten minutes"]
fn every_defect_is_noticed_by_what_is_there_for_it() {
    let bench = Bench::set();
    let wanted = std::env::var("SEGNO_MUTATION").unwrap_or_default();
    let filters: BTreeSet<&str> = MUTATIONS.iter().map(|mutation| mutation.tests).collect();
    let (passed, said) = bench.test(&Vec::from_iter(filters));
    assert!(passed, "without any defect:\n{said}");
    let mut survivors = Vec::new();
    for mutation in MUTATIONS.iter().filter(|mutation| mutation.what.contains(&wanted)) {
        let path = bench.root.join("host/core/src").join(mutation.file);
        let whole = fs::read_to_string(&path).expect("a source");
        fs::write(&path, mutation.applied(&whole)).expect("a defect can be put in");
        let (passed, said) = bench.test(&[mutation.tests]);
        fs::write(&path, whole).expect("the defect can be taken out");
        assert!(!said.contains("could not compile"), "`{}`:\n{said}", mutation.what);
        let verdict = match (passed, said.contains(mutation.killer)) {
            (false, true) => "killed",
            (false, false) => "killed by another",
            (true, _) => "SURVIVED",
        };
        println!("{verdict:<18} {} ({})", mutation.what, mutation.killer);
        if verdict != "killed" {
            let failures: Vec<&str> = said
                .lines()
                .filter(|line| line.contains("panicked") || line.contains("broke"))
                .collect();
            survivors.push((mutation.what, failures.join("\n")));
        }
    }
    assert!(survivors.is_empty(), "{survivors:#?}");
}
