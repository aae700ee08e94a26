//! Checks that `deny.toml` allows the licence, source and name of every dependency.
//! `cargo deny check` reads the same file and checks advisories too, but it is not in every
//! registry and takes minutes to compile.

use std::{collections::BTreeSet, fs, process::Command};

use serde_json::Value as Json;
use spdx::{Expression, Licensee, ParseMode};
use tests::documents::repository;
use toml::{Table, Value};

/// The parts of `deny.toml` that are applied here.
struct Policy {
    licences: Vec<Licensee>,
    banned: BTreeSet<String>,
    registries: BTreeSet<String>,
}

impl Policy {
    fn parse(text: &str) -> Self {
        let table: Table = toml::from_str(text).expect("deny.toml is TOML");
        let licences = texts(&table["licenses"]["allow"])
            .map(|name| Licensee::parse(name).unwrap_or_else(|error| panic!("{name}: {error}")));
        let banned = table["bans"]["deny"].as_array().expect("bans are a list");
        let banned = banned.iter().map(|ban| ban["crate"].as_str().expect("a crate").to_owned());
        let registries = texts(&table["sources"]["allow-registry"]).map(str::to_owned);
        Self {
            licences: licences.collect(),
            banned: banned.collect(),
            registries: registries.collect(),
        }
    }

    /// The reason why a package of `cargo metadata` is refused; `None` if it is allowed.
    fn refusal(&self, package: &Json) -> Option<String> {
        let name = package["name"].as_str().expect("a package has a name");
        if self.banned.contains(name) {
            return Some(format!("{name} is banned"));
        }
        // Members of the workspace have no source.
        let source = package["source"].as_str()?;
        let registry = source.strip_prefix("registry+");
        if !registry.is_some_and(|registry| self.registries.contains(registry)) {
            return Some(format!("{name} comes from {source}"));
        }
        let Some(licence) = package["license"].as_str() else {
            return Some(format!("{name} names no licence"));
        };
        let expression = match Expression::parse_mode(licence, ParseMode::LAX) {
            Ok(expression) => expression,
            Err(error) => return Some(format!("{name} has an unreadable licence: {error}")),
        };
        let allowed = expression
            .evaluate(|licence| self.licences.iter().any(|licensee| licensee.satisfies(licence)));
        (!allowed).then(|| format!("{name} is under {licence}"))
    }
}

fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().expect("a list").iter().map(|text| text.as_str().expect("a text"))
}

fn policy() -> Policy {
    let path = repository().join("deny.toml");
    Policy::parse(&fs::read_to_string(path).expect("deny.toml is there"))
}

#[test]
fn every_dependency_is_allowed() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--format-version", "1"])
        .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
        .current_dir(repository())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Json = serde_json::from_slice(&output.stdout).expect("metadata is JSON");
    let packages = metadata["packages"].as_array().expect("packages are a list");
    assert!(packages.len() > 400, "{} packages", packages.len());
    let policy = policy();
    let refused: Vec<String> = packages.iter().filter_map(|some| policy.refusal(some)).collect();
    assert!(refused.is_empty(), "deny.toml refuses:\n{}", refused.join("\n"));
}

#[test]
fn a_dependency_that_is_not_allowed_is_named() {
    let policy = policy();
    let index = policy.registries.first().expect("a registry is allowed");
    let package = |name: &str, source: &str, licence: &str| serde_json::json!({ "name": name, "source": source, "license": licence });
    let registry = format!("registry+{index}");
    assert_eq!(policy.refusal(&package("good", &registry, "GPL-3.0 OR MIT/Apache-2.0")), None);
    for (package, reason) in [
        (package("copyleft", &registry, "GPL-3.0 AND MIT"), "copyleft is under GPL-3.0 AND MIT"),
        (package("openssl", &registry, "Apache-2.0"), "openssl is banned"),
        (package("forked", "git+file:///x", "MIT"), "forked comes from git+file:///x"),
    ] {
        assert_eq!(policy.refusal(&package).as_deref(), Some(reason));
    }
}
