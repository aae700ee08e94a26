//! `segno verify` as a command, and in `cargo test`: a crate that `segno new` creates, and a
//! JavaScript component with the same defects as those in Rust.
//!
//! JavaScript needs tools from npm. It is tested with `SEGNO_CLIENTS=1`, which installs the tools
//! into Segno's cache. With `SEGNO_CLIENTS=required`, as in CI, the suite fails if they are
//! unavailable.

use std::{env, fs, path::Path};

use serde_json::Value as Json;
use tests::shell::{Said, Shell};

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");

fn shell(folder: &Path) -> Shell {
    Shell::in_folder(folder, SEGNO, &Path::new(env!("CARGO_TARGET_TMPDIR")).join("documents"))
}

fn run(shell: &Shell, folder: &str, lines: &[&str]) -> Vec<Said> {
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    shell.run(folder, &lines)
}

/// A test in a crate that `segno new` created.
const SOUND: &str = r#"
#[test]
fn signup_is_sound_under_every_fault() {
    segno::testing::verify("signup").input(ADDRESS).script("verify.toml").runs(200).check();
}
"#;

const CONFIRMED: &str = "[[send]]\npromise = \"confirmed\"\nvalue = true\n";

#[test]
fn a_crate_verifies_itself_in_cargo_test() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let shell = shell(folder.path());
    run(&shell, "", &["segno new shop"]);
    let shop = shell.work().join("shop");
    let tests = fs::read_to_string(shop.join("src/tests.rs")).expect("it has tests");
    fs::write(shop.join("src/tests.rs"), format!("{tests}{SOUND}")).expect("there is room");
    fs::write(shop.join("verify.toml"), CONFIRMED).expect("there is room");
    let source = fs::read_to_string(shop.join("src/lib.rs")).expect("it has a source");
    let line = "    let outcome = if confirmed { \"confirmed\" } else { \"refused\" };";
    let defect =
        "    let outcome = Some(\"nothing\").filter(|_| !confirmed).expect(\"no outcome\");";
    assert!(source.contains(line), "{source}");
    fs::write(shell.work().join("defective"), source.replace(line, defect)).expect("there is room");
    let said = run(
        &shell,
        "shop",
        &[
            "segno build . --prepare",
            "cargo test sound",
            "SEGNO=/nowhere/segno cargo test sound",
            "cp ../defective src/lib.rs && cargo test sound",
            "segno verify . signup --input '\"ada@example.org\"' --script verify.toml",
            "segno verify . sign_up",
        ],
    );
    let heard = |at: usize| format!("{}{}", said[at].out, said[at].err);
    assert_eq!(said[1].exit, Some(0), "{said:#?}");
    assert!(heard(1).contains("1 passed"), "{said:#?}");
    // Without the program, the test's message has the remedy.
    assert_eq!(said[2].exit, Some(101), "{said:#?}");
    assert!(heard(2).contains("install segno, or say in the variable SEGNO"), "{said:#?}");
    // The finding is the message of the test: kind, place, schedule and command.
    assert_eq!(said[3].exit, Some(101), "{said:#?}");
    for part in ["trap", "no outcome", "src/lib.rs:", "send:1", "segno verify"] {
        assert!(heard(3).contains(part), "{part}: {said:#?}");
    }
    assert_eq!(said[4].exit, Some(10), "{said:#?}");
    assert!(said[4].out.contains("1 finding"), "{said:#?}");
    assert_eq!(said[5].exit, Some(1), "{said:#?}");
    assert!(said[5].err.contains("no workflow `sign_up`; it has `signup`"), "{said:#?}");
}

const SHIM: &str = include_str!("../../examples/other-languages/javascript/segno.js");

/// Workflows with one defect each, and one without a defect.
const WORKFLOWS: &str = r"
import { module } from './segno.js';

// State outside of the function, which a replay does not bring back.
let drawn = 0;

async function counts(input, ctx) {
  await ctx.run('draw', () => { drawn += 1; return drawn; });
  await ctx.call('work', 'a step');
  return await ctx.call('work', `${drawn}`);
}

async function firstCome(parts, ctx) {
  const results = [];
  await Promise.all(parts.map(async (part) => results.push(await ctx.call('work', part))));
  return results;
}

async function inOrder(parts, ctx) {
  return await Promise.all(parts.map((part) => ctx.call('work', part)));
}

async function pays(input, ctx) {
  return await ctx.call('pay', 100);
}

async function keeps(card, ctx) {
  const room = await ctx.call('book', 'room');
  await ctx.call('charge', card);
  return room;
}

async function races(input, ctx) {
  const room = ctx.call('book', 'room');
  const late = ctx.sleep(60_000).then(() => 'no room');
  return await Promise.race([room, late]);
}

const any = (run) => ({ input: true, run });
export const { functions, messages, objects } = module({
  workflows: {
    counts: any(counts), first_come: any(firstCome), in_order: any(inOrder),
    pays: any(pays), keeps: any(keeps), races: any(races),
  },
  activities: {
    work: any((part) => `${part} done`),
    book: any((what) => `${what} booked`),
    unbook: any(() => null),
    charge: any((card) => `${card} charged`),
    pay: any(async (cents, ctx) => {
      await ctx.http({ method: 'POST', url: 'http://payments/charges', body: cents });
      return 'paid';
    }),
  },
});
";

/// Payments are accepted, and every card is declined.
const SCRIPT: &str = r#"
[[answer]]
http = "POST http://payments/"
outcomes = [{ body = true }]

[[answer]]
function = "charge"
outcomes = [{ fails = 402, message = "declined" }]

[compensates]
book = "unbook"
"#;

#[test]
fn defects_in_javascript_are_found() {
    let wanted = env::var("SEGNO_CLIENTS").unwrap_or_default();
    if wanted.is_empty() {
        eprintln!("skipped: JavaScript is tried with SEGNO_CLIENTS=1, which installs tools");
        return;
    }
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let shell = shell(folder.path());
    let faulty = shell.work().join("faulty");
    fs::create_dir(&faulty).expect("there is room for a folder");
    for (name, text) in
        [("package.json", "{\"type\": \"module\"}"), ("segno.js", SHIM), ("workflow.js", WORKFLOWS)]
    {
        fs::write(faulty.join(name), text).expect("there is room");
    }
    fs::write(faulty.join("script.toml"), SCRIPT).expect("there is room");
    let parts = "'[\"a\", \"b\", \"c\"]'";
    let verify = |function: &str, input: &str| {
        format!("segno verify f.wasm {function} -i {input} --script script.toml --runs 150 --json")
    };
    let lines = [
        "segno build . --prepare --out f.wasm".to_owned(),
        verify("counts", "null"),
        verify("first_come", parts),
        verify("pays", "null"),
        verify("keeps", "'\"card\"'"),
        verify("races", "null"),
        verify("in_order", parts),
    ];
    let said = shell.run("faulty", &lines);
    if said[0].exit != Some(0) {
        let cannot = ["could not be installed with", " needs "];
        let is_known = cannot.iter().any(|part| said[0].err.contains(part));
        assert!(is_known && wanted != "required", "{said:#?}");
        eprintln!("SKIPPED: the tools of JavaScript cannot be installed: {}", said[0].err);
        return;
    }
    let kinds = [
        "divergence",
        "order-dependence",
        "repeated-effect",
        "lost-compensation",
        "lost-compensation",
    ];
    for (said, kind) in said[1..].iter().zip(kinds) {
        assert_eq!(said.exit, Some(10), "{kind}: {said:#?}");
        let report: Json = serde_json::from_str(&said.out).expect("a report");
        let found = report["failures"].as_array().expect("a list");
        assert!(found.iter().any(|failure| failure["kind"] == kind), "{kind}: {report:#}");
    }
    let sound = said.last().expect("there are seven");
    assert_eq!(sound.exit, Some(0), "{sound:#?}");
    let report: Json = serde_json::from_str(&sound.out).expect("a report");
    assert_eq!(report["orders"]["explored"], 6, "{report:#}");
    // The printed command repeats the finding.
    let report: Json = serde_json::from_str(&said[1].out).expect("a report");
    let command = report["commands"][0].as_str().expect("a command").to_owned();
    let again = shell.run("faulty", &[format!("{command} --json")]);
    assert_eq!(again[0].exit, Some(10), "{again:#?}");
    let repeated: Json = serde_json::from_str(&again[0].out).expect("a report");
    assert_eq!(repeated["failures"][0]["journal"], report["failures"][0]["journal"], "{command}");
}
