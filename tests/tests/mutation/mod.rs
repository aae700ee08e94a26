//! Deliberate defects in the code. Each must be detected, by the predicate or test that is meant
//! for it.
//!
//! All defects of a crate are built into one copy of it, and each is enabled by its number. Those
//! of the core run in every `cargo test`. Those of the other crates run in the long form: `cargo
//! test -p tests --test suites mutation:: -- --ignored --nocapture` (`SEGNO_MUTATION=words` selects
//! those whose description contains these words).

mod bench;
mod outside;
mod stores;
mod switched;
mod table;

use std::{
    collections::BTreeSet,
    fs,
    ops::Range,
    path::{Path, PathBuf},
};

use segno_core::invariants::{PREDICATES, STEP_PREDICATES};

use bench::{Bench, Part, root};
use table::{
    Mutation, budgets, journals, limits, objects, promises, streams, succession, tasks, upkeep,
};

const CORE: &[Part] = &[
    of_the_core(tasks::MUTATIONS),
    of_the_core(promises::MUTATIONS),
    of_the_core(journals::MUTATIONS),
    of_the_core(upkeep::MUTATIONS),
    of_the_core(objects::MUTATIONS),
    of_the_core(limits::MUTATIONS),
    of_the_core(streams::MUTATIONS),
    of_the_core(budgets::MUTATIONS),
    of_the_core(succession::MUTATIONS),
];

const fn of_the_core(mutations: &'static [Mutation]) -> Part {
    Part { folder: "host/core", package: "segno-core", program: "--lib", mutations }
}

const OUTSIDE: &[Part] = &[
    Part {
        folder: "host/store",
        package: "segno-store",
        program: "--lib",
        mutations: stores::STORES,
    },
    Part {
        folder: "host/store",
        package: "segno-store",
        program: "--lib",
        mutations: stores::DATABASES,
    },
    Part {
        folder: "host/resonate",
        package: "segno-resonate",
        program: "--lib",
        mutations: outside::RESONATE,
    },
    Part {
        folder: "host/guest",
        package: "segno-guest",
        program: "--lib",
        mutations: outside::SOURCES,
    },
    Part {
        folder: "host/engine",
        package: "tests",
        program: "suites",
        mutations: outside::REPLAYS,
    },
    Part {
        folder: "host/engine",
        package: "tests",
        program: "suites",
        mutations: outside::SNAPSHOTS,
    },
    Part {
        folder: "host/guest",
        package: "tests",
        program: "suites",
        mutations: outside::SNAPSHOT_FILES,
    },
    Part { folder: "host/engine", package: "tests", program: "suites", mutations: outside::STARTS },
    Part {
        folder: "host/engine",
        package: "segno-engine",
        program: "--lib",
        mutations: outside::AWAY,
    },
    Part {
        folder: "host/engine",
        package: "tests",
        program: "suites",
        mutations: outside::OUTCOMES,
    },
    Part {
        folder: "host/engine",
        package: "tests",
        program: "suites",
        mutations: outside::HELD_TIMERS,
    },
    Part {
        folder: "host/core",
        package: "tests",
        program: "suites",
        mutations: outside::SIMULATED_RULES,
    },
    Part {
        folder: "guest-sdk/saga",
        package: "tests",
        program: "suites",
        mutations: outside::SIMULATED_SAGAS,
    },
    Part {
        folder: "host/resonate",
        package: "tests",
        program: "suites",
        mutations: outside::SIMULATED_MESSAGES,
    },
    Part {
        folder: "host/services",
        package: "tests",
        program: "suites",
        mutations: outside::SIMULATED_SERVICES,
    },
    Part {
        folder: "host/restate",
        package: "tests",
        program: "suites",
        mutations: outside::SIMULATED_FRAMES,
    },
];

fn sources_of(part: &Part) -> PathBuf {
    root().join(part.folder).join("src")
}

impl Mutation {
    /// The unique place of the defect in `text`.
    fn place(&self, text: &str) -> Range<usize> {
        let times = text.matches(self.says).count();
        assert_eq!(
            times, 1,
            "`{}`: {} says {:?} {times} times, not once; mend the table",
            self.what, self.file, self.says
        );
        let start = text.find(self.says).expect("it says that once");
        start..start + self.says.len()
    }
}

#[test]
fn every_defect_can_be_put_in() {
    for part in CORE.iter().chain(OUTSIDE) {
        let tests = sources(&bench::folder_of(&root(), part.package));
        for mutation in part.mutations {
            let path = sources_of(part).join(mutation.file);
            let text = fs::read_to_string(path);
            let text = text.unwrap_or_else(|error| panic!("{}: {error}", mutation.file));
            assert_ne!(switched::switched(&text, &[(1, mutation)]), text);
            assert_ne!(mutation.says, mutation.would_say, "`{}` changes nothing", mutation.what);
            assert!(
                tests.contains(mutation.killer),
                "`{}` should be noticed by {:?}, which is nowhere",
                mutation.what,
                mutation.killer
            );
        }
    }
}

#[test]
fn every_predicate_is_the_killer_of_a_defect() {
    let over_rows = PREDICATES.iter().copied().flatten().map(|(name, _)| *name);
    let predicates: BTreeSet<&str> =
        over_rows.chain(STEP_PREDICATES.iter().map(|(name, _)| *name)).collect();
    let killers: BTreeSet<&str> =
        CORE.iter().flat_map(|part| part.mutations).map(|mutation| mutation.killer).collect();
    let idle: Vec<&&str> = predicates.difference(&killers).collect();
    assert_eq!(idle, Vec::<&&str>::new(), "no defect of the table is there for these");
}

/// All sources in a directory, concatenated.
fn sources(directory: &Path) -> String {
    let mut all = String::new();
    for entry in fs::read_dir(directory).expect("a directory of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            all.push_str(&sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            all.push_str(&fs::read_to_string(&path).expect("sources are text"));
        }
    }
    all
}

fn words() -> String {
    std::env::var("SEGNO_MUTATION").unwrap_or_default()
}

#[test]
fn every_defect_of_the_core_is_noticed_by_what_is_there_for_it() {
    let folders = ["host/core", "guest-sdk/saga", "guest-sdk/graph"];
    let bench = Bench::build("mutation-core", &folders, Some(&folders), CORE);
    let survivors = bench.survivors(CORE, &words());
    assert!(survivors.is_empty(), "{survivors:#?}");
}

#[test]
#[ignore = "builds the whole workspace once more: half an hour"]
fn every_defect_outside_of_the_core_is_noticed_by_what_is_there_for_it() {
    let folders = ["docs", "host", "guest-sdk", "tests", "examples"];
    let bench = Bench::build("mutation-workspace", &folders, None, OUTSIDE);
    let survivors = bench.survivors(OUTSIDE, &words());
    assert!(survivors.is_empty(), "{survivors:#?}");
}
