//! Components that cannot be deployed, and the report of those that can.

use super::{
    guests::{Function, activity, workflow},
    *,
};
use crate::{FunctionReportKind, ImportTreatment, InvalidComponent, ModuleReport};

async fn inspect(bytes: impl Into<Arc<[u8]>>) -> Result<ModuleReport, InvalidComponent> {
    host(&[]).inspect(bytes.into()).await
}

async fn refusal(bytes: impl Into<Arc<[u8]>>) -> String {
    inspect(bytes).await.expect_err("it cannot be deployed").to_string()
}

#[tokio::test]
async fn what_is_no_component_is_named() {
    let garbage = refusal(*b"#!/bin/sh\nexit 1\n").await;
    assert!(garbage.contains("not WebAssembly"), "{garbage}");
    assert!(refusal(*b"").await.contains("not WebAssembly"));

    let core = refusal(Guest::default().core()).await;
    assert!(core.contains("core module") && core.contains("segno build"), "{core}");

    let mut broken = Guest::default().component().to_vec();
    let half = broken.len() / 2;
    broken.truncate(half);
    let broken = refusal(broken).await;
    assert!(broken.contains("not valid"), "{broken}");

    let large = refusal(vec![0; (4 << 20) + 1]).await;
    assert!(large.contains("limits.component_bytes"), "{large}");
}

#[tokio::test]
async fn missing_exports_are_named() {
    let none = wat::parse_str("(component)").expect("it is a component");
    let none = refusal(none).await;
    assert!(none.contains("does not export `segno:workflow/functions`"), "{none}");

    let some = wat::parse_str(
        r#"(component
            (core module $m (func (export "f")))
            (core instance $i (instantiate $m))
            (func $f (canon lift (core func $i "f")))
            (instance $e (export "describe" (func $f)) (export "start" (func $f)))
            (export "segno:workflow/functions@0.2.0" (instance $e)))"#,
    );
    let some = refusal(some.expect("it is a component")).await;
    assert!(some.contains("#resume`, `segno:workflow/functions@0.2.0#perform`"), "{some}");
}

#[tokio::test]
async fn unknown_imports_are_named() {
    let component = wat::parse_str(
        r#"(component
            (import "acme:mail/send@1.0.0" (instance (export "send" (func))))
            (import "wasi:nn/tensor@0.2.0" (instance (export "f" (func)))))"#,
    );
    let refusal = refusal(component.expect("it is a component")).await;
    assert!(refusal.contains("`acme:mail/send@1.0.0`, `wasi:nn/tensor@0.2.0`"), "{refusal}");
}

#[tokio::test]
async fn an_unknown_import_of_types_alone_is_named() {
    // The interface contains types only, so it links under any name.
    let mut component = Guest::default().component().to_vec();
    let (known, unknown) = (b"segno:workflow/types@0.2.0", b"segno:workflow/typed@0.2.0");
    let places: Vec<usize> = component
        .windows(known.len())
        .enumerate()
        .filter_map(|(at, window)| (window == known).then_some(at))
        .collect();
    assert!(!places.is_empty(), "the component imports the types of the contract");
    for at in places {
        component[at..at + unknown.len()].copy_from_slice(unknown);
    }
    let refusal = refusal(component).await;
    assert!(refusal.contains("does not know `segno:workflow/typed@0.2.0`"), "{refusal}");
}

#[tokio::test]
async fn an_import_of_another_type_does_not_fit() {
    let component = wat::parse_str(
        r#"(component
            (import "segno:workflow/journal@0.2.0" (instance (export "now" (func (result string)))))
            (core module $m (func (export "f")))
            (core instance $i (instantiate $m))
            (func $f (canon lift (core func $i "f")))
            (instance $e (export "describe" (func $f)) (export "start" (func $f))
                         (export "resume" (func $f)) (export "perform" (func $f)))
            (export "segno:workflow/functions@0.2.0" (instance $e)))"#,
    );
    let refusal = refusal(component.expect("it is a component")).await;
    assert!(refusal.contains("does not fit") && refusal.contains("now"), "{refusal}");
}

#[tokio::test]
async fn descriptions_are_checked() {
    let twice = Guest { functions: vec![workflow("main"), activity("main")], ..Guest::default() };
    let twice = refusal(twice.component()).await;
    assert!(twice.contains("`main` more than once"), "{twice}");

    for (schema, reason) in [("{", "EOF"), (r#"{"type": "strin"}"#, "strin")] {
        let function = Function { input_schema: Some(schema), ..workflow("main") };
        let guest = Guest { functions: vec![function], ..Guest::default() };
        let refusal = refusal(guest.component()).await;
        assert!(
            refusal.contains("input schema of `main`") && refusal.contains(reason),
            "{refusal}"
        );
    }

    let guest =
        Guest { items: "(start $boom) (func $boom unreachable)".into(), ..Guest::default() };
    let refusal = refusal(guest.component()).await;
    assert!(refusal.contains("`describe` failed"), "{refusal}");
}

#[tokio::test]
async fn a_report_says_what_a_module_needs_and_offers() {
    let schema = Function { input_schema: Some(r#"{"type": "string"}"#), ..workflow("main") };
    let guest = Guest { functions: vec![schema, activity("work")], wasi: true, ..Guest::default() };
    let guest = Guest {
        imports: r#"
            (import "wasi:filesystem/types@0.2.0" "[method]descriptor.open-at"
              (func (param i32 i32 i32 i32 i32 i32 i32)))
            (import "wasi:filesystem/types@0.2.0" "[method]descriptor.get-type" (func (param i32 i32)))"#
            .into(),
        ..guest
    };
    let component = guest.component();
    let report = inspect(Arc::clone(&component)).await.expect("it can be deployed");
    assert_eq!(
        (report.size, &report.digest),
        (component.len(), &Digest::of(&component).to_string())
    );
    let kinds: Vec<_> = report.functions.iter().map(|f| (&*f.name, f.kind)).collect();
    assert_eq!(
        kinds,
        [("main", FunctionReportKind::Workflow), ("work", FunctionReportKind::Activity)]
    );
    assert_eq!(report.functions[0].input_schema.as_ref().expect("it has one")["type"], "string");
    let how = |function: &str| {
        let import =
            report.imports.iter().find(|import| import.functions.iter().any(|f| f == function));
        import.expect("it is imported").how.clone()
    };
    assert_eq!(how("finish"), ImportTreatment::Provided);
    assert_eq!(how("[method]descriptor.get-type"), ImportTreatment::DeterministicWasi);
    let ImportTreatment::RefusedWhenCalled { use_instead } = how("[method]descriptor.open-at")
    else {
        panic!("{report:?}");
    };
    assert!(use_instead.contains("activity"), "{use_instead}");
    assert!(report.exports.iter().any(|export| export == "segno:workflow/functions@0.2.0"));
    let text = serde_json::to_string(&report).expect("it can be stored");
    assert_eq!(serde_json::from_str::<ModuleReport>(&text).expect("it can be read"), report);
}
