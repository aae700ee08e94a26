//! Hand-made components: a core module in text form, wrapped for the contract as any toolchain
//! does.

use std::{fmt::Write as _, path::Path, sync::Arc};

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// The parts of WASI that the tests import, as WIT.
const WASI_WIT: &str = include_str!("wasi.wit");
/// A world with a resource that the guest defines.
const RESOURCES_WIT: &str = "package fixture:resources;
    interface things { resource thing; }
    world guest { include segno:workflow/module@0.2.0; export things; }";
/// Offset of the answer of `describe`.
const DESCRIPTION_AT: usize = 1_024;
/// Size of one `function-description`, in bytes.
const DESCRIPTION_BYTES: usize = 128;
/// Offset of the strings of `describe`.
const STRINGS_AT: usize = 8_192;

/// A guest, given by the bodies of its functions in the text format.
///
/// Locals of `start`: `$function`, `$function-length`, `$kind`, `$input`, `$length` (the payload),
/// `$seed`. Locals of `resume`: `$event` (0 completed, 1 signal, 2 cancelled), `$command`, and the
/// flattened rest. Local of `perform`: `$parameters`, with the input's payload at offset 8.
/// Available functions: `$finish-text` (pointer, length), `$succeed` (the same parameters; the
/// result of `perform`).
pub(super) struct Guest {
    pub(super) functions: Vec<Function>,
    pub(super) imports: String,
    pub(super) items: String,
    pub(super) start: String,
    pub(super) resume: String,
    pub(super) perform: String,
    pub(super) exports: Vec<&'static str>,
    pub(super) wasi: bool,
    /// True if the guest exports an interface with its own resource type.
    pub(super) resources: bool,
    /// Additional contract interfaces that the guest exports; they are among its items.
    pub(super) describes: &'static [&'static str],
}

/// One function in the answer of `describe`.
pub(super) struct Function {
    pub(super) name: &'static str,
    pub(super) activity: bool,
    pub(super) input_schema: Option<&'static str>,
}

impl Default for Guest {
    fn default() -> Self {
        Self {
            functions: vec![workflow("main"), activity("work")],
            imports: String::new(),
            items: String::new(),
            start: String::new(),
            resume: String::new(),
            perform: "unreachable".into(),
            exports: vec!["describe", "start", "resume", "perform"],
            wasi: false,
            resources: false,
            describes: &[],
        }
    }
}

pub(super) fn workflow(name: &'static str) -> Function {
    Function { name, activity: false, input_schema: None }
}

pub(super) fn activity(name: &'static str) -> Function {
    Function { name, activity: true, input_schema: None }
}

impl Guest {
    /// A guest that implements `start` only.
    pub(super) fn starting(start: &str) -> Self {
        Self { start: start.into(), ..Self::default() }
    }

    pub(super) fn component(&self) -> Arc<[u8]> {
        self.encode().expect("the guest is well formed")
    }

    pub(super) fn core(&self) -> Vec<u8> {
        wat::parse_str(self.text()).expect("the core module is well formed")
    }

    fn encode(&self) -> anyhow::Result<Arc<[u8]>> {
        let mut resolve = Resolve::default();
        let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guest-sdk/wit");
        let (mut package, _) = resolve.push_dir(wit)?;
        if self.wasi {
            package = resolve.push_source("wasi.wit", WASI_WIT)?;
        }
        if self.resources {
            package = resolve.push_source("resources.wit", RESOURCES_WIT)?;
        }
        if !self.describes.is_empty() {
            let exports = self.describes.iter();
            let exports: String =
                exports.map(|name| format!("export segno:workflow/{name}@0.2.0;\n")).collect();
            let world = format!(
                "package fixture:described; world guest {{ include segno:workflow/module@0.2.0; {exports} }}"
            );
            package = resolve.push_source("described.wit", &world)?;
        }
        let is_plain = !self.wasi && !self.resources && self.describes.is_empty();
        let world = resolve.select_world(&[package], is_plain.then_some("module"))?;
        let mut core = self.core();
        embed_component_metadata(&mut core, &resolve, world, StringEncoding::UTF8)?;
        let mut encoder = ComponentEncoder::default();
        encoder.validate(true).module(&core)?;
        Ok(encoder.encode()?.into())
    }

    fn text(&self) -> String {
        let Self { imports, items, start, resume, perform, .. } = self;
        let export = |name: &str| match self.exports.contains(&name) {
            true => format!(r#"(export "segno:workflow/functions@0.2.0#{name}")"#),
            false => String::new(),
        };
        let (describe_export, start_export) = (export("describe"), export("start"));
        let (resume_export, perform_export) = (export("resume"), export("perform"));
        let data = self.description();
        format!(
            r#"(module
              (import "segno:workflow/journal@0.2.0" "finish"
                (func $finish (param i32 i32 i32 i32 i32 i32 i32 i32)))
              {imports}
              (memory (export "memory") 2)
              (global $heap (mut i32) (i32.const 65536))
              (func (export "cabi_realloc") (param i32 i32 i32 $size i32) (result i32)
                (local $at i32)
                (local.set $at (i32.and (i32.add (global.get $heap) (i32.const 7)) (i32.const -8)))
                (global.set $heap (i32.add (local.get $at) (local.get $size)))
                (block $fits
                  (br_if $fits (i32.le_u (global.get $heap) (i32.mul (memory.size) (i32.const 65536))))
                  (drop (memory.grow (i32.add (i32.div_u (local.get $size) (i32.const 65536)) (i32.const 1)))))
                (local.get $at))
              (func $finish-text (param $at i32) (param $length i32)
                (call $finish (i32.const 0) (i32.const 0) (local.get $at) (local.get $length)
                  (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
              (func $succeed (param $at i32) (param $length i32) (result i32)
                (i32.store8 (i32.const 512) (i32.const 0))
                (i32.store8 (i32.const 516) (i32.const 0))
                (i32.store (i32.const 520) (local.get $at))
                (i32.store (i32.const 524) (local.get $length))
                (i32.const 512))
              {items}
              (func {describe_export} (result i32) (i32.const {DESCRIPTION_AT}))
              (func $start {start_export} (param $function i32) (param $function-length i32)
                (param $kind i32) (param $input i32) (param $length i32)
                (param i32 i32) (param i32 i32 i32) (param i64) (param $seed i32) (param i32)
                {start})
              (func {resume_export} (param $event i32) (param $command i32) (param $outcome i32)
                (param i32 i32 i32 i32 i32 i32 i32)
                {resume})
              (func {perform_export} (param $parameters i32) (result i32) {perform})
              {data})"#
        )
        .replace("(param i32 i32 i32 $size i32)", "(param i32 i32 i32) (param $size i32)")
    }

    /// The answer of `describe` as data, in the layout of the canonical ABI.
    fn description(&self) -> String {
        let mut strings = Vec::new();
        let mut keep = |text: &str| {
            let at = STRINGS_AT + strings.len();
            strings.extend_from_slice(text.as_bytes());
            [at as u32, text.len() as u32]
        };
        let list_at = DESCRIPTION_AT + 8;
        let mut records = Vec::new();
        records.extend((list_at as u32).to_le_bytes());
        records.extend((self.functions.len() as u32).to_le_bytes());
        for function in &self.functions {
            let mut record = vec![0; DESCRIPTION_BYTES];
            let mut put = |at: usize, words: &[u32]| {
                for (place, word) in words.iter().enumerate() {
                    record[at + 4 * place..][..4].copy_from_slice(&word.to_le_bytes());
                }
            };
            put(0, &keep(function.name));
            put(8, &[function.activity.into()]);
            if let Some(schema) = function.input_schema {
                let [at, length] = keep(schema);
                put(24, &[1, at, length]);
            }
            records.extend(record);
        }
        let mut text = String::new();
        for (at, bytes) in [(DESCRIPTION_AT, records), (STRINGS_AT, strings)] {
            let escaped: String = bytes.iter().map(|byte| format!("\\{byte:02x}")).collect();
            write!(text, r#"(data (i32.const {at}) "{escaped}")"#).expect("text can be written");
        }
        text
    }
}
