//! Hand-written guests: one creates handles of its own resource.

use std::{path::Path, sync::Arc};

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

const WORLD: &str = "package fixture:resources;
    interface things { resource thing; }
    world guest { include segno:workflow/module@0.2.0; export things; }";

/// Number of its sleeps.
pub(super) const NAPS: u32 = 5;

/// A workflow `main` that creates two handles before each of its sleeps, and drops them in order,
/// except that it `keeps` the first one. At the end it finishes with the number of one more handle.
pub(super) fn component(keeps: bool) -> Arc<[u8]> {
    let first = if keeps { "" } else { "(call $drop (local.get $a))" };
    let text = format!(
        r#"(module
          (import "segno:workflow/journal@0.2.0" "now" (func $now (result i64)))
          (import "segno:workflow/journal@0.2.0" "sleep-until" (func $sleep (param i64) (result i32)))
          (import "segno:workflow/journal@0.2.0" "finish"
            (func $finish (param i32 i32 i32 i32 i32 i32 i32 i32)))
          (import "[export]fixture:resources/things" "[resource-new]thing"
            (func $new (param i32) (result i32)))
          (import "[export]fixture:resources/things" "[resource-drop]thing" (func $drop (param i32)))
          (memory (export "memory") 1)
          (data (i32.const 0) "main")
          (data (i32.const 256) "\08\01\00\00\01\00\00\00")
          (data (i32.const 264) "\00\00\00\00\04\00\00\00\00")
          (global $naps (mut i32) (i32.const 0))
          (global $free (mut i32) (i32.const 1024))
          (func (export "cabi_realloc") (param i32 i32) (param $align i32) (param $size i32)
            (result i32) (local $at i32)
            (local.set $at (i32.and (i32.add (global.get $free) (i32.const 7)) (i32.const -8)))
            (global.set $free (i32.add (local.get $at) (local.get $size)))
            (local.get $at))
          (func (export "segno:workflow/functions@0.2.0#describe") (result i32) (i32.const 256))
          (func $go (local $a i32) (local $b i32)
            (local.set $a (call $new (i32.const 7)))
            (if (i32.eq (global.get $naps) (i32.const {NAPS})) (then
              (i32.store8 (i32.const 512) (i32.add (i32.const 48) (local.get $a)))
              (call $finish (i32.const 0) (i32.const 0) (i32.const 512) (i32.const 1)
                (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))
              (return)))
            (local.set $b (call $new (i32.const 8)))
            {first}
            (call $drop (local.get $b))
            (global.set $naps (i32.add (global.get $naps) (i32.const 1)))
            (drop (call $sleep (i64.add (call $now) (i64.const 5000)))))
          (func (export "segno:workflow/functions@0.2.0#start")
            (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i64 i32 i32)
            (call $go))
          (func (export "segno:workflow/functions@0.2.0#resume")
            (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)
            (call $go))
          (func (export "segno:workflow/functions@0.2.0#perform") (param i32) (result i32)
            unreachable))"#
    );
    wrapped(&text, Some(("resources.wit", WORLD)), "guest")
}

/// The example that uses the whole contract.
pub(super) fn by_hand() -> Arc<[u8]> {
    let text = include_str!("../../../examples/other-languages/wat/module.wat");
    wrapped(text, None, "module")
}

/// Wraps a module as a component of this world, which is one of the contract or of `more`.
fn wrapped(text: &str, more: Option<(&str, &str)>, world: &str) -> Arc<[u8]> {
    let mut core = wat::parse_str(text).expect("the module is well formed");
    let mut resolve = Resolve::default();
    let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guest-sdk/wit");
    let (mut package, _) = resolve.push_dir(wit).expect("the contract is well formed");
    if let Some((name, of)) = more {
        package = resolve.push_source(name, of).expect("the world is well formed");
    }
    let world = resolve.select_world(&[package], Some(world)).expect("it has one world");
    embed_component_metadata(&mut core, &resolve, world, StringEncoding::UTF8)
        .expect("the world can be embedded");
    let mut encoder = ComponentEncoder::default();
    encoder.validate(true).module(&core).expect("the module fits the world");
    encoder.encode().expect("it can be wrapped").into()
}
