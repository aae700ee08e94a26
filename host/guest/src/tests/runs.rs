//! Functions that run once per key, as a component describes them, and the promises of objects.

use super::{guests::workflow, *};
use crate::InvalidComponent;

/// Offset of the answer of `describe-objects`.
const OBJECTS_AT: usize = 4_096;
/// Offset of the answer of `describe-runs`.
const RUNS_AT: usize = 4_608;
/// Offset of the texts.
const TEXTS_AT: usize = 5_120;

/// A guest with these functions of objects (second element: true if shared), of which `runs` run
/// once per key, in the layout of the canonical ABI.
fn keyed(objects: &[(&'static str, bool)], runs: &[&str]) -> Guest {
    let mut texts = Vec::new();
    let mut keep = |text: &str| {
        let at = TEXTS_AT + texts.len();
        texts.extend_from_slice(text.as_bytes());
        [at as u32, text.len() as u32]
    };
    let functions = objects.iter().map(|(name, _)| workflow(name)).collect();
    let listed = |at: usize, count: usize, items: Vec<u32>| {
        [vec![at as u32 + 8, count as u32], items].concat()
    };
    let described: Vec<u32> = objects
        .iter()
        .flat_map(|(name, shared)| {
            let [at, length] = keep(name);
            [at, length, u32::from(*shared)]
        })
        .collect();
    let named: Vec<u32> = runs.iter().flat_map(|name| keep(name)).collect();
    let words = [
        (OBJECTS_AT, listed(OBJECTS_AT, objects.len(), described)),
        (RUNS_AT, listed(RUNS_AT, runs.len(), named)),
    ];
    let bytes = words
        .into_iter()
        .map(|(at, words)| (at, words.into_iter().flat_map(u32::to_le_bytes).collect::<Vec<u8>>()));
    let data: String = bytes
        .chain([(TEXTS_AT, texts)])
        .map(|(at, bytes)| {
            let escaped: String = bytes.iter().map(|byte| format!("\\{byte:02x}")).collect();
            format!(r#"(data (i32.const {at}) "{escaped}")"#)
        })
        .collect();
    let items = format!(
        r#"(func (export "segno:workflow/objects@0.2.0#describe-objects") (result i32)
             (i32.const {OBJECTS_AT}))
           (func (export "segno:workflow/runs@0.2.0#describe-runs") (result i32)
             (i32.const {RUNS_AT}))
           {data}"#
    );
    Guest { functions, items, describes: &["objects", "runs"], ..Guest::default() }
}

#[tokio::test]
async fn a_function_that_runs_once_a_key_is_so_in_its_report() {
    let guest = keyed(&[("Signup/run", false), ("Signup/status", true)], &["Signup/run"]);
    let report = host(&[]).inspect(guest.component()).await.expect("it can be deployed");
    let once: Vec<bool> = report.functions.iter().map(|function| function.runs_once).collect();
    assert_eq!(once, [true, false]);
    let text = serde_json::to_string(&report).expect("it can be stored");
    assert_eq!(serde_json::from_str::<crate::ModuleReport>(&text).expect("it can be read"), report);
}

#[tokio::test]
async fn a_function_that_cannot_run_once_a_key_is_refused_by_name() {
    type Objects = &'static [(&'static str, bool)];
    let cases: [(Objects, &[&str], &str); 5] = [
        (
            &[("Signup/run", false), ("Signup/change", false)],
            &["Signup/run"],
            "`Signup/run` cannot run once a key: its object has another exclusive function, `Signup/change`",
        ),
        (
            &[("Signup/run", false), ("Signup/again", false)],
            &["Signup/run", "Signup/again"],
            "has another exclusive function, `Signup/again`",
        ),
        (&[("Signup/status", true)], &["Signup/status"], "it is a shared function"),
        (&[("Signup/run", false)], &["Signup/go"], "the module has no such function"),
        (&[("Signup/run", false)], &["Signup/run", "Signup/run"], "it is described twice"),
    ];
    for (objects, runs, said) in cases {
        let refused = host(&[]).inspect(keyed(objects, runs).component()).await;
        let error = refused.expect_err("it is refused");
        assert!(matches!(error, InvalidComponent::BadRun { .. }), "{error:?}");
        assert!(error.to_string().contains(said), "{error}");
    }
}

#[tokio::test]
async fn an_object_of_another_kind_has_exclusive_functions_of_its_own() {
    let guest = keyed(&[("Signup/run", false), ("Account/deposit", false)], &["Signup/run"]);
    host(&[]).inspect(guest.component()).await.expect("it can be deployed");
}

#[tokio::test]
async fn a_function_of_no_object_has_no_promises_of_one() {
    for (import, parameters, arguments) in [
        ("wait", "i32 i32", "(i32.const 0) (i32.const 4)"),
        ("peek", "i32 i32", "(i32.const 0) (i32.const 4)"),
    ] {
        let guest = Guest {
            imports: format!(
                r#"(import "segno:workflow/object-promises@0.2.0" "{import}" (func $asked (param {parameters}) (result i32)))"#
            ),
            start: format!("(drop (call $asked {arguments}))"),
            ..Guest::default()
        };
        let (_, ended) = start(&guest, "main").await;
        let error = ended.expect_err("it is refused").to_string();
        let said = format!("`object-promises.{import}` is for functions of objects");
        assert!(error.contains(&said), "{error}");
    }
}
