//! The state of an instance, read and restored.

use super::*;
use crate::{
    Completion, Event, JournalCall, Memory, Outcome,
    snapshot::{self, Initialization},
};

/// A guest with state of each kind that changes at each event: the number of calls, in its memory
/// and in four globals. It allocates its third megabyte itself.
fn counting() -> Guest {
    Guest {
        items: r#"
            (global $a (mut i32) (i32.const -1))
            (global $b (mut i64) (i64.const 1))
            (global $c (mut f32) (f32.const 0.5))
            (global $d (mut f64) (f64.const 0.25))
            (global $never f64 (f64.const 1))
            (func $count
              (i32.store (i32.const 30000) (i32.add (i32.load (i32.const 30000)) (i32.const 1)))
              (global.set $a (i32.sub (global.get $a) (i32.const 1)))
              (global.set $b (i64.mul (global.get $b) (i64.const 0x123456789)))
              (global.set $c (f32.div (global.get $c) (f32.const 3)))
              (global.set $d (f64.div (global.get $d) (f64.const 7))))"#
            .into(),
        start: "(drop (memory.grow (i32.const 20)))
            (i32.store (i32.const 0) (i32.const 0x11223344))
            (i32.store (i32.const 1400000) (i32.const 77))
            (call $count)"
            .into(),
        resume: format!(
            "(call $count)
             (if (i32.eq (i32.load (i32.const 30000)) (i32.const 6)) (then
               (i32.store (i32.const 30004) (global.get $a))
               (i64.store (i32.const 30008) (global.get $b))
               (f32.store (i32.const 30016) (global.get $c))
               (f64.store (i32.const 30024) (global.get $d))
               (i32.store (i32.const 30032) (i32.load (i32.const 0)))
               (i32.store (i32.const 30036) (i32.load (i32.const 1400000)))
               {}))",
            finish_bytes(40)
        ),
        ..Guest::default()
    }
}

/// Finishes with `length` bytes from offset 30000.
fn finish_bytes(length: u32) -> String {
    format!(
        "(call $finish (i32.const 0) (i32.const 1) (i32.const 30000) (i32.const {length})
           (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))"
    )
}

fn told() -> Event {
    let outcome = Outcome::Success(json("1"));
    Event::Completed(Completion { command: 0, outcome })
}

fn rewrite(component: &[u8]) -> Result<Vec<u8>, String> {
    snapshot::rewrite(component, Initialization::OnInstantiation)
}

async fn accessible(wasm: &Wasm, component: &Arc<[u8]>) -> Result<Box<dyn Workflow>, GuestError> {
    wasm.accessible(Digest::of(component), None).await
}

async fn new_one(wasm: &Wasm, component: &Arc<[u8]>) -> Box<dyn Workflow> {
    accessible(wasm, component).await.expect("it can be read")
}

async fn saved(instance: &mut dyn Workflow) -> Memory {
    instance.save().await.expect("it can be saved")
}

/// The outcome of `instance` after `events`.
async fn ended(instance: &mut dyn Workflow, events: usize) -> Option<Vec<u8>> {
    let script = Script::default();
    for _ in 0..events {
        instance.resume(script.shared(), told()).await.expect("it goes on");
    }
    match script.asked().pop() {
        Some(JournalCall::Finish { outcome: Outcome::Success(Payload::Bytes(bytes)) }) => {
            Some(bytes)
        }
        _ => None,
    }
}

#[tokio::test]
async fn an_instance_goes_on_from_what_another_kept() {
    let component = counting().component();
    let wasm = host(&[&component]);
    let begin = async |mut instance: Box<dyn Workflow>| {
        let script = Script::default();
        let started = instance.start(script.shared(), "main", json("1"), context(1)).await;
        started.expect("it starts");
        instance
    };
    let mut plain = begin(instantiate(&wasm, &component).await).await;
    let undisturbed = ended(&mut *plain, 5).await.expect("it finishes");
    assert_eq!(undisturbed[0..4], 6_u32.to_le_bytes());
    assert_eq!(undisturbed[32..36], 0x1122_3344_u32.to_le_bytes());
    assert_eq!(undisturbed[36..40], 77_u32.to_le_bytes());

    let base = saved(&mut *new_one(&wasm, &component).await).await;
    let mut first = begin(new_one(&wasm, &component).await).await;
    assert_eq!(ended(&mut *first, 2).await, None);
    let kept = saved(&mut *first).await;
    assert_eq!(saved(&mut *first).await, kept, "looking changes nothing");
    let change = kept.since(&base);
    assert!(change.bytes() <= 4 * 4096, "{} bytes differ", change.bytes());

    let mut second = new_one(&wasm, &component).await;
    second.restore("main", &[1; 32], &change).await.expect("it can be restored");
    assert_eq!(saved(&mut *second).await, kept);
    assert_eq!(ended(&mut *second, 3).await.as_deref(), Some(&undisturbed[..]));
    assert_eq!(ended(&mut *first, 3).await.as_deref(), Some(&undisturbed[..]));
    assert_eq!(saved(&mut *first).await, saved(&mut *second).await);
}

#[tokio::test]
async fn what_only_the_original_knows_is_refused() {
    let because = async |guest: Guest| {
        let component = guest.component();
        let wasm = host(&[&component]);
        let Err(error) = accessible(&wasm, &component).await else { panic!("it can be read") };
        error.to_string()
    };
    let table = "(table 2 funcref) (elem declare func $f) (func $f)
        (func $set (table.set (i32.const 0) (ref.func $f)))";
    let why = because(Guest { items: table.into(), ..Guest::default() }).await;
    assert!(
        why.contains("no snapshot can be made of its instances: its code changes a table"),
        "{why}"
    );
    let reference = "(global $r (mut funcref) (ref.null func))";
    let why = because(Guest { items: reference.into(), ..Guest::default() }).await;
    assert!(why.contains("a variable of type"), "{why}");
}

/// A guest that creates three handles at each event and gives them back in this order, but keeps
/// the first one if `keeps`. It finishes with the numbers of all handles that it created in six
/// events.
fn handling(order: [u32; 3], keeps: bool) -> Guest {
    let place = |n: u32| {
        format!("(i32.add (i32.const {}) (i32.mul (global.get $n) (i32.const 12)))", 30_000 + 4 * n)
    };
    let made: String =
        (0..3).map(|n| format!("(i32.store {} (call $new (i32.const {n})))", place(n))).collect();
    let given: String = order[usize::from(keeps)..]
        .iter()
        .map(|n| format!("(call $drop (i32.load {}))", place(*n)))
        .collect();
    let event = format!("{made} {given} (global.set $n (i32.add (global.get $n) (i32.const 1)))");
    Guest {
        imports: r#"
            (import "[export]fixture:resources/things" "[resource-new]thing" (func $new (param i32) (result i32)))
            (import "[export]fixture:resources/things" "[resource-drop]thing" (func $drop (param i32)))"#
            .into(),
        items: "(global $n (mut i32) (i32.const 0))".into(),
        start: event.clone(),
        resume: format!(
            "{event} (if (i32.eq (global.get $n) (i32.const 6)) (then {}))",
            finish_bytes(72)
        ),
        resources: true,
        ..Guest::default()
    }
}

#[tokio::test]
async fn handles_come_in_the_order_in_which_they_would_have_come() {
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
        let component = handling(order, false).component();
        let wasm = host(&[&component]);
        let base = saved(&mut *new_one(&wasm, &component).await).await;
        let mut first = new_one(&wasm, &component).await;
        let script = Script::default();
        first.start(script.shared(), "main", json("1"), context(3)).await.expect("it starts");
        assert_eq!(ended(&mut *first, 2).await, None);
        let kept = saved(&mut *first).await;
        assert_eq!(saved(&mut *first).await, kept, "looking changes nothing");
        let mut second = new_one(&wasm, &component).await;
        second.restore("main", &[3; 32], &kept.since(&base)).await.expect("it can be restored");
        assert_eq!(saved(&mut *second).await, kept);
        let numbers = ended(&mut *first, 3).await.expect("it finishes");
        assert_eq!(ended(&mut *second, 3).await, Some(numbers), "{order:?}");
    }
}

#[tokio::test]
async fn an_instance_that_holds_handles_of_its_own_is_refused() {
    let component = handling([0, 1, 2], true).component();
    let wasm = host(&[&component]);
    let mut instance = new_one(&wasm, &component).await;
    saved(&mut *instance).await;
    let script = Script::default();
    instance.start(script.shared(), "main", json("1"), context(3)).await.expect("it starts");
    let error = instance.save().await.expect_err("it holds one");
    assert!(error.to_string().contains("it holds open handles of resources (1)"), "{error}");
}

#[tokio::test]
async fn every_memory_is_kept() {
    let count = "(i32.store $second (i32.const 8) (i32.add (i32.load $second (i32.const 8)) (i32.const 7)))";
    let guest = Guest {
        items: "(memory $second 1)".into(),
        start: format!("(drop (memory.grow $second (i32.const 2))) {count}"),
        resume: format!(
            "{count} (if (i32.eq (i32.load $second (i32.const 8)) (i32.const 28)) (then
               (i32.store (i32.const 30000) (i32.load $second (i32.const 8)))
               (i32.store (i32.const 30004) (memory.size $second))
               {}))",
            finish_bytes(8)
        ),
        ..Guest::default()
    };
    let component = guest.component();
    let wasm = host(&[&component]);
    let base = saved(&mut *new_one(&wasm, &component).await).await;
    let mut first = new_one(&wasm, &component).await;
    let script = Script::default();
    first.start(script.shared(), "main", json("1"), context(3)).await.expect("it starts");
    let change = saved(&mut *first).await.since(&base);
    let mut second = new_one(&wasm, &component).await;
    second.restore("main", &[3; 32], &change).await.expect("it can be restored");
    let expected = [28_u32.to_le_bytes(), 3_u32.to_le_bytes()].concat();
    assert_eq!(ended(&mut *first, 3).await, Some(expected.clone()));
    assert_eq!(ended(&mut *second, 3).await, Some(expected));
}

#[test]
fn code_that_is_handed_around_is_refused() {
    let keeps = "(core module $m (memory (export \"memory\") 1) (global (mut i32) (i32.const 0)))";
    let cases = [
        // Instances that would not be counted.
        format!(
            "(component (component $part {keeps} (core instance (instantiate $m)))
               (instance (instantiate $part))
               (component $inner (alias outer 1 $part (component $again)) (instance (instantiate $again)))
               (instance (instantiate $inner)))"
        ),
        format!(
            "(component {keeps} (core instance (instantiate $m))
               (component $inner (alias outer 1 $m (core module $again)) (core instance (instantiate $again)))
               (instance (instantiate $inner)))"
        ),
        format!("(component {keeps} (export \"m\" (core module $m)) (core instance (instantiate $m)))"),
        format!(
            "(component (component $part {keeps} (core instance (instantiate $m)))
               (export \"part\" (component $part)) (instance (instantiate $part)))"
        ),
    ];
    for case in cases {
        let component = wat::parse_str(&case).expect("it is well formed");
        let why = rewrite(&component).expect_err("it may have instances that hide");
        assert!(why.contains("around"), "{why}: {case}");
    }
    // Two instances of one module, each with a memory.
    let twice = format!(
        "(component {keeps} (core instance (instantiate $m)) (core instance (instantiate $m)))"
    );
    let component = wat::parse_str(&twice).expect("it is well formed");
    let rewritten = rewrite(&component).expect("both are read");
    let exported = |name: &str| {
        let name = name.as_bytes();
        rewritten.windows(name.len()).any(|window| window == name)
    };
    assert!(exported("segno-snapshot-a-pages") && exported("segno-snapshot-b-pages"));
}

#[tokio::test]
async fn an_instance_of_the_original_cannot_be_read() {
    let component = counting().component();
    let wasm = host(&[&component]);
    let mut instance = instantiate(&wasm, &component).await;
    let error = instance.save().await.expect_err("it has no accessor");
    assert!(error.to_string().contains("was not made to be read"), "{error}");
}

#[tokio::test]
async fn random_numbers_go_on_where_they_were() {
    let draw = "(i64.store (i32.add (i32.const 30000) (i32.mul (global.get $n) (i32.const 8))) (call $wasi))
        (global.set $n (i32.add (global.get $n) (i32.const 1)))";
    let guest = Guest {
        imports:
            r#"(import "wasi:random/random@0.2.0" "get-random-u64" (func $wasi (result i64)))"#
                .into(),
        items: "(global $n (mut i32) (i32.const 0))".into(),
        start: draw.into(),
        resume: format!(
            "{draw} (if (i32.eq (global.get $n) (i32.const 4)) (then {}))",
            finish_bytes(32)
        ),
        wasi: true,
        ..Guest::default()
    };
    let component = guest.component();
    let wasm = host(&[&component]);
    let base = saved(&mut *new_one(&wasm, &component).await).await;
    let mut first = new_one(&wasm, &component).await;
    let script = Script::default();
    first.start(script.shared(), "main", json("1"), context(3)).await.expect("it starts");
    assert_eq!(ended(&mut *first, 1).await, None);
    let change = saved(&mut *first).await.since(&base);
    let mut second = new_one(&wasm, &component).await;
    second.restore("main", &[3; 32], &change).await.expect("it can be restored");
    let drawn = ended(&mut *first, 2).await.expect("it finishes");
    assert_eq!(ended(&mut *second, 2).await, Some(drawn.clone()));
    let drawn: std::collections::BTreeSet<_> = drawn.chunks(8).collect();
    assert_eq!(drawn.len(), 4, "no number came twice");
}

#[test]
fn no_code_and_no_index_of_a_component_changes() {
    let component = counting().component();
    let bodies = |component: &[u8]| {
        let parsed = wasmparser::Parser::new(0).parse_all(component);
        let bodies = parsed.filter_map(|payload| match payload.expect("it is well formed") {
            wasmparser::Payload::CodeSectionEntry(body) => Some(body.as_bytes().to_vec()),
            _ => None,
        });
        bodies.collect::<Vec<_>>()
    };
    let rewritten = rewrite(&component).expect("it can be");
    let (before, after) = (bodies(&component), bodies(&rewritten));
    assert_eq!(before[..], after[..before.len()]);
    assert!(after.len() > before.len());
}
