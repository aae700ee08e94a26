//! Modules that consist of sources, and the runtime that they share.

use std::{
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use segno_core::{invocation::EngineFacts, source_module::SourceModule};

use super::{activity::perform, *};
use crate::{
    Event, GuestError, InvalidComponent, JournalCall, LoadingError, Memory, Outcome, StopReason,
    instance::Instance,
};

/// A runtime: a module answers with the content of its only file. An empty file is rejected, by its
/// path.
fn runtime() -> Arc<[u8]> {
    let runtime = Guest {
        items: r#"
            (global $content (mut i32) (i32.const 0))
            (global $length (mut i32) (i32.const 0))
            (func (export "segno:workflow/loader@0.2.0#load") (param $files i32) (param i32)
              (result i32)
              (global.set $content (i32.load offset=8 (local.get $files)))
              (global.set $length (i32.load offset=12 (local.get $files)))
              (i32.store8 (i32.const 30000) (i32.eqz (global.get $length)))
              (i32.store (i32.const 30004) (i32.load (local.get $files)))
              (i32.store (i32.const 30008) (i32.load offset=4 (local.get $files)))
              (i32.const 30000))"#
            .into(),
        // The count shows that each instance begins with the memory after loading.
        start: "(i32.store (i32.const 31000) (i32.add (i32.load (i32.const 31000)) (i32.const 1)))
            (if (i32.ne (i32.load (i32.const 31000)) (i32.const 1)) (then unreachable))"
            .into(),
        resume: "(call $finish-text (global.get $content) (global.get $length))".into(),
        perform: "(call $succeed (global.get $content) (global.get $length))".into(),
        describes: &["loader"],
        ..Guest::default()
    };
    runtime.component()
}

fn module(runtime: &Arc<[u8]>, path: &str, content: &str) -> Arc<[u8]> {
    let files = vec![(path.to_owned(), content.into())];
    SourceModule::new(Digest::of(runtime), files).expect("it is a module").encode().into()
}

async fn started(instance: &mut dyn Workflow) {
    let script = Script::default();
    instance.start(script.shared(), "main", json("1"), context(1)).await.expect("it starts");
}

async fn answer(instance: &mut dyn Workflow) -> Option<Outcome> {
    let script = Script::default();
    instance.resume(script.shared(), Event::Cancelled).await.expect("it goes on");
    match script.asked().pop() {
        Some(JournalCall::Finish { outcome }) => Some(outcome),
        _ => None,
    }
}

#[tokio::test]
async fn each_module_has_its_own_sources_on_a_shared_runtime() {
    let runtime = runtime();
    let (one, other) = (module(&runtime, "a", "\"one\""), module(&runtime, "a", "\"other\""));
    let wasm = host(&[&runtime, &one, &other]);
    for (module, content) in [(&one, "\"one\""), (&other, "\"other\""), (&one, "\"one\"")] {
        let digest = Digest::of(module);
        let mut instance = wasm.instantiate(digest, None).await.expect("it begins");
        started(&mut *instance).await;
        assert_eq!(answer(&mut *instance).await, Some(Outcome::Success(json(content))));
        let performed = perform(&wasm, module, Arc::default()).await.expect("it answers");
        assert_eq!(performed, Outcome::Success(json(content)));
    }
}

#[tokio::test]
async fn an_instance_sees_nothing_of_the_one_whose_memory_it_has() {
    // It grows its memory, which has to be as large as it was and zero behind that.
    let runtime = Guest {
        items: r#"(func (export "segno:workflow/loader@0.2.0#load") (param i32 i32) (result i32)
              (drop (memory.grow (i32.const 3)))
              (i32.store (i32.const 300000) (i32.const 5))
              (i32.const 30000))"#
            .into(),
        start: "(if (i32.ne (memory.size) (i32.const 5)) (then unreachable))
            (if (i32.ne (i32.load (i32.const 300000)) (i32.const 5)) (then unreachable))
            (if (i32.ne (memory.grow (i32.const 2)) (i32.const 5)) (then unreachable))
            (if (i32.load (i32.const 327680)) (then unreachable))
            (i32.store (i32.const 300000) (i32.const 6))
            (i32.store (i32.const 327680) (i32.const 7))"
            .into(),
        describes: &["loader"],
        ..Guest::default()
    };
    let runtime = runtime.component();
    let (one, other) = (module(&runtime, "a", "1"), module(&runtime, "a", "2"));
    let wasm = host(&[&runtime, &one, &other]);
    for module in [&one, &one, &other, &other, &one] {
        let new = async || {
            let mut instance = wasm.instantiate(Digest::of(module), None).await.expect("it begins");
            started(&mut *instance).await;
            instance
        };
        let (first, second) = (new().await, new().await);
        drop(first);
        drop((new().await, second));
    }
}

#[tokio::test]
async fn an_instance_counts_the_memory_that_it_begins_with() {
    let runtime = Guest {
        items: r#"(func (export "segno:workflow/loader@0.2.0#load") (param i32 i32) (result i32)
              (drop (memory.grow (i32.const 30))) (i32.const 30000))"#
            .into(),
        // Of its 64 pages, 32 are left.
        start: "(if (i32.ne (memory.grow (i32.const 33)) (i32.const -1)) (then unreachable))
            (if (i32.ne (memory.grow (i32.const 32)) (i32.const 32)) (then unreachable))"
            .into(),
        describes: &["loader"],
        ..Guest::default()
    };
    let runtime = runtime.component();
    let module = module(&runtime, "a", "1");
    let wasm = host(&[&runtime, &module]);
    let mut instance = wasm.instantiate(Digest::of(&module), None).await.expect("it begins");
    assert!(instance.footprint() >= 32 << 16, "{}", instance.footprint());
    started(&mut *instance).await;
    let facts = EngineFacts { memory_limit_bytes: 31 << 16, ..wasm.engine_facts() };
    let refused = wasm.instantiate(Digest::of(&module), Some(facts)).await.err();
    let refused = refused.expect("its memory is larger").to_string();
    assert!(refused.contains("limits.memory_bytes"), "{refused}");
}

#[tokio::test]
async fn an_instance_of_a_source_module_is_saved_and_restored() {
    let runtime = runtime();
    let module = module(&runtime, "a", "\"one\"");
    let wasm = host(&[&runtime, &module]);
    let new = async || wasm.accessible(Digest::of(&module), None).await.expect("it can be read");
    let (mut base, mut first, mut second) = (new().await, new().await, new().await);
    started(&mut *first).await;
    let base = base.save().await.expect("it can be saved");
    let change = first.save().await.expect("it can be saved").since(&base);
    // The page that `start` wrote, and the one with its arguments.
    assert_eq!(change.bytes(), 8 << 10);
    second.restore("main", &[1; 32], &change).await.expect("it is restored");
    assert_eq!(answer(&mut *second).await, Some(Outcome::Success(json("\"one\""))));
}

#[tokio::test]
async fn an_instance_is_one_that_loaded_its_sources_whether_its_image_is_kept_missing_or_damaged() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let keeping = |config: &mut WasmConfig| config.cache_dir = Some(folder.path().to_owned());
    let runtime = runtime();
    let module = module(&runtime, "a", &format!("\"{}\"", "x".repeat(10_000)));
    let without_disk = host(&[&runtime, &module]);
    let itself = loaded(&without_disk, &runtime, &module).await;
    assert!(saved(&without_disk, &module).await == itself);
    let new_host = || host_with(&[&runtime, &module], keeping);
    let image = || std::fs::metadata(image_of(folder.path(), &module)).expect("it is kept").ino();
    assert!(saved(&new_host(), &module).await == itself);
    let first = image();
    let host = new_host();
    assert!(saved(&host, &module).await == itself);
    assert_eq!(image(), first, "it is not loaded again");

    let path = image_of(folder.path(), &module);
    let mut bytes = std::fs::read(&path).expect("it is kept");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(&path, &bytes).expect("it is writable");
    assert!(saved(&new_host(), &module).await == itself);
    let second = image();
    assert_ne!(second, first, "it is made again");
    std::fs::remove_file(&path).expect("it is kept");
    let host = new_host();
    assert!(saved(&host, &module).await == itself);
    // A host that has it open reads it although it was removed.
    std::fs::remove_file(&path).expect("it is made again");
    assert!(saved(&host, &module).await == itself);
}

/// The memory of an instance of `runtime` that has loaded the sources of `module` itself.
async fn loaded(wasm: &Wasm, runtime: &Arc<[u8]>, module: &Arc<[u8]>) -> Memory {
    let digest = Digest::of(runtime);
    let runtime = wasm.runtimes.get(digest).await.expect("it is a runtime");
    let budget = wasm.budget(digest);
    let instance = Instance::new(&wasm.engine, budget, runtime).await;
    let mut instance = instance.expect("it begins");
    let files = SourceModule::decode(module).expect("it is a module").into_files();
    instance.load(files).await.expect("it answers").expect("it is loaded");
    instance.save().await.expect("it can be saved")
}

async fn saved(wasm: &Wasm, module: &Arc<[u8]>) -> Memory {
    let instance = wasm.accessible(Digest::of(module), None).await;
    instance.expect("it can be read").save().await.expect("it can be saved")
}

fn image_of(folder: &Path, module: &Arc<[u8]>) -> PathBuf {
    let name = format!("{}.cwasm", Digest::of(module));
    let kept = std::fs::read_dir(folder).expect("there is a cache").flatten();
    let mut kept = kept.map(|directory| directory.path().join(&name));
    kept.find(|path| path.is_file()).expect("its image is kept")
}

#[tokio::test]
async fn sources_that_cannot_be_loaded_are_refused_and_the_reason_is_named() {
    let (runtime, component) = (runtime(), Guest::default().component());
    let wasm = host(&[&runtime, &component]);
    let refusal = async |bytes: Arc<[u8]>| match wasm.inspect(bytes).await {
        Err(InvalidComponent::Sources(error)) => error,
        other => panic!("{other:?}"),
    };
    let unknown = refusal(module(&Guest::starting("(nop)").component(), "a", "1")).await;
    assert!(matches!(unknown, LoadingError::NoRuntime(_)), "{unknown}");
    let no_runtime = refusal(module(&component, "a", "1")).await.to_string();
    assert!(no_runtime.contains("does not export `segno:workflow/loader`"), "{no_runtime}");
    let rejected = refusal(module(&runtime, "src/line.js", "")).await.to_string();
    assert_eq!(rejected, "src/line.js");
    let cut = module(&runtime, "a", "1");
    let damaged = refusal(cut[..cut.len() - 1].into()).await.to_string();
    assert!(damaged.contains("cut off or damaged"), "{damaged}");
    let report = wasm.inspect(module(&runtime, "a", "1")).await.expect("it is fine");
    assert_eq!((report.functions.len(), report.no_snapshots), (2, None));
}

#[tokio::test]
async fn code_that_does_not_end_while_it_is_loaded_is_named() {
    let runtime = Guest {
        items: r#"(func (export "segno:workflow/loader@0.2.0#load") (param i32 i32) (result i32)
            (loop $forever (br $forever)) unreachable)"#
            .into(),
        describes: &["loader"],
        ..Guest::default()
    };
    let runtime = runtime.component();
    let wasm = host(&[&runtime]);
    let refused = wasm.inspect(module(&runtime, "a", "1")).await;
    let Err(InvalidComponent::Sources(LoadingError::TooLong { limit_ms: 200 })) = refused else {
        panic!("{refused:?}");
    };
}

#[tokio::test]
async fn a_runtime_is_compiled_once() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let runtime = runtime();
    let module = module(&runtime, "a", "1");
    let keeping = |config: &mut WasmConfig| config.cache_dir = Some(folder.path().to_owned());
    let wasm = host_with(&[&runtime], keeping);
    let report = wasm.inspect(Arc::clone(&runtime)).await.expect("it is fine");
    assert!(report.exports.iter().all(|name| name.starts_with("segno:")), "{:?}", report.exports);
    wasm.inspect(module).await.expect("it is fine");
    let code = format!("{}.cwasm", Digest::of(&runtime));
    let forms = std::fs::read_dir(folder.path()).expect("there is a cache").flatten();
    let forms = forms.filter(|form| !form.file_name().to_string_lossy().contains("-images"));
    let compiled = forms.filter_map(|form| std::fs::read_dir(form.path()).ok());
    let compiled = compiled.flatten().flatten();
    assert_eq!(compiled.filter(|file| file.file_name() == *code).count(), 1);
}

#[tokio::test]
async fn a_runtime_that_is_compiled_and_not_stored_is_missing() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let keeping = |config: &mut WasmConfig| config.cache_dir = Some(folder.path().to_owned());
    let runtime = runtime();
    let module = module(&runtime, "a", "1");
    let before = host_with(&[&runtime], keeping);
    before.inspect(Arc::clone(&module)).await.expect("it is fine");
    let after = host_with(&[], keeping);
    match after.inspect(module).await {
        Err(InvalidComponent::Sources(LoadingError::NoRuntime(missing))) => {
            assert_eq!(missing, Digest::of(&runtime));
        }
        other => panic!("{other:?}"),
    }
}

/// A runtime whose workflow sleeps twice, and logs a place if the first command has the index that
/// asks for it.
fn sleeper_with_place(text: &str) -> Arc<[u8]> {
    let (length, escaped) = (text.len(), text.replace('\n', "\\0a"));
    let runtime = Guest {
        imports: r#"(import "segno:workflow/journal@0.2.0" "log" (func $log (param i32 i32 i32)))
            (import "segno:workflow/journal@0.2.0" "sleep-until" (func $sleep (param i64) (result i32)))"#
            .into(),
        items: format!(
            r#"(data (i32.const 16384) "{escaped}")
            (func (export "segno:workflow/loader@0.2.0#load") (param i32 i32) (result i32)
              (i32.const 30000))"#
        ),
        start: format!(
            "(if (i32.eq (call $sleep (i64.const 1)) (i32.const -2))
              (then (call $log (i32.const 4) (i32.const 16384) (i32.const {length}))))"
        ),
        describes: &["loader"],
        ..Guest::default()
    };
    runtime.component()
}

#[tokio::test]
async fn an_interpreter_is_asked_for_the_place_of_a_command_at_which_it_is_stopped() {
    for (text, places) in [("asked at\n    at order (src/index.ts:7)", 1), ("a line", 0)] {
        let runtime = sleeper_with_place(text);
        let module = module(&runtime, "a", "1");
        let wasm = host(&[&runtime, &module]);
        let mut instance = wasm.instantiate(Digest::of(&module), None).await.expect("it begins");
        started(&mut *instance).await;
        let mut instance = wasm.instantiate(Digest::of(&module), None).await.expect("it begins");
        let script = Script { stop: Some(StopReason::Divergence), ..Script::default() };
        let ended = instance.start(script.shared(), "main", json("1"), context(1)).await;
        let Err(GuestError::Stopped { stop: StopReason::Divergence, backtrace }) = ended else {
            panic!("{ended:?}");
        };
        let own = backtrace.expect("it has a stack").own;
        let told = own
            .iter()
            .filter(|frame| frame.file.as_deref() == Some("src/index.ts") && frame.line == Some(7));
        assert_eq!((own.len(), told.count()), (places, places), "{text}");
        assert_eq!(script.asked(), [], "the place is no line of the log");
    }
}
