//! Moves the initialization of a core module into a function that it exports: active data segments
//! and the start function.
//!
//! An instance whose memory is there already then skips both, and any other instance calls the
//! function. The bytes of all segments become one passive segment, since each segment costs time in
//! every instance.

use wasm_encoder::{Encode as _, ExportKind, Function, SectionId};
use wasmparser::{DataKind, Parser, Payload, TypeRef};

use super::{
    core_module::{ModuleSections, export_entry},
    section_bytes,
};

/// The name under which the function is exported.
pub(super) const INITIALIZER: &str = "segno:initializer";
/// The first byte of a passive data segment.
const PASSIVE: u8 = 1;

/// The moment at which the core modules of a component are initialized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Initialization {
    /// As WebAssembly defines it.
    OnInstantiation,
    /// When the host calls their initializers.
    OnCall,
}

/// An active data segment.
struct ActiveSegment<'a> {
    memory: u32,
    /// The instructions that compute its offset in the memory, without their end.
    offset: &'a [u8],
    bytes: &'a [u8],
}

/// The parts of a module that an initializer replaces or refers to.
#[derive(Default)]
struct InitializedModule<'a> {
    types: u32,
    functions: u32,
    start: Option<u32>,
    /// True if the code may name data segments by their indices.
    names_segments: bool,
    active: Vec<ActiveSegment<'a>>,
    /// The bytes of each segment that stays. Active ones are empty after an instantiation.
    stay: Vec<&'a [u8]>,
}

/// Adds an initializer to `sections`, those of `module`. Returns false if the module needs none.
pub(super) fn add(module: &[u8], sections: &mut ModuleSections) -> Result<bool, String> {
    let InitializedModule { types, functions, start, names_segments, active, stay } =
        look(module).map_err(|error| error.to_string())?;
    if active.is_empty() && start.is_none() {
        return Ok(false);
    }
    let stay = if names_segments { stay } else { Vec::new() };
    let segment = place(stay.len());

    let mut body = Function::new([]);
    let mut all = Vec::new();
    for ActiveSegment { memory, offset, bytes } in active {
        body.raw(offset.iter().copied());
        let (from, len) = (place(all.len()).cast_signed(), place(bytes.len()).cast_signed());
        body.instructions().i32_const(from).i32_const(len).memory_init(memory, segment);
        all.extend_from_slice(bytes);
    }
    if let Some(start) = start {
        body.instructions().call(start);
    }
    body.instructions().end();

    let (mut code, mut export, mut of_type) = (Vec::new(), Vec::new(), Vec::new());
    body.encode(&mut code);
    export_entry(INITIALIZER, ExportKind::Func, functions, &mut export);
    types.encode(&mut of_type);
    // A function without parameters and results.
    sections.append(SectionId::Type, 1, &[0x60, 0, 0])?;
    sections.append(SectionId::Function, 1, &of_type)?;
    sections.append(SectionId::Export, 1, &export)?;
    sections.append(SectionId::Code, 1, &code)?;
    sections.remove(SectionId::Start);

    let segments = stay.into_iter().chain([&all[..]]);
    let (mut count, mut data) = (Vec::new(), Vec::new());
    (segment + 1).encode(&mut count);
    data.extend_from_slice(&count);
    for bytes in segments {
        data.push(PASSIVE);
        bytes.encode(&mut data);
    }
    sections.put(SectionId::DataCount, count);
    sections.put(SectionId::Data, data);
    Ok(true)
}

fn look(module: &[u8]) -> wasmparser::Result<InitializedModule<'_>> {
    let mut found = InitializedModule::default();
    for payload in Parser::new(0).parse_all(module) {
        match payload? {
            Payload::TypeSection(groups) => {
                for group in groups {
                    found.types += place(group?.types().len());
                }
            }
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    if let TypeRef::Func(_) | TypeRef::FuncExact(_) = import?.ty {
                        found.functions += 1;
                    }
                }
            }
            Payload::FunctionSection(functions) => found.functions += functions.count(),
            Payload::StartSection { func, .. } => found.start = Some(func),
            Payload::DataCountSection { .. } => found.names_segments = true,
            Payload::DataSection(segments) => {
                for segment in segments {
                    let segment = segment?;
                    match segment.kind {
                        DataKind::Passive => found.stay.push(segment.data),
                        DataKind::Active { memory_index, offset_expr } => {
                            let whole =
                                section_bytes(module, offset_expr.get_binary_reader().range());
                            found.active.push(ActiveSegment {
                                memory: memory_index,
                                offset: whole.split_last().map_or(whole, |(_end, offset)| offset),
                                bytes: segment.data,
                            });
                            found.stay.push(&[]);
                        }
                    }
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

/// A number of things in a module: wasm counts with 32 bits.
fn place(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use wasmtime::{Engine, Instance, Module, Store};

    use super::{super::core_module, *};

    /// The memory and the global of a module after its instantiation, and after its initializer if
    /// it has one.
    fn states(module: &[u8]) -> Vec<(Vec<u8>, i32)> {
        let engine = Engine::default();
        let module = Module::new(&engine, module).expect("it compiles");
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &module, &[]).expect("it begins");
        let look = |store: &mut Store<()>| {
            let memory = instance.get_memory(&mut *store, "memory").expect("it has a memory");
            let global = instance.get_global(&mut *store, "count").expect("it has a global");
            (memory.data(&mut *store)[..32].to_vec(), global.get(&mut *store).unwrap_i32())
        };
        let mut states = vec![look(&mut store)];
        if let Ok(initialize) = instance.get_typed_func::<(), ()>(&mut store, INITIALIZER) {
            initialize.call(&mut store, ()).expect("it returns");
            states.push(look(&mut store));
        }
        states
    }

    fn opened(module: &[u8]) -> core_module::AccessibleModule {
        core_module::open(module, Initialization::OnCall).expect("its state can be read")
    }

    #[test]
    fn an_initializer_does_what_an_instantiation_did() {
        let segments =
            r#"(data (i32.const 4) "abcdef") (data (global.get $at) "xy") (data "passive")"#;
        let start = r#"(func $begin
            (global.set $count (i32.add (global.get $count) (i32.load8_u (i32.const 6))))
            (i32.store8 (i32.const 20) (i32.const 1)))
            (start $begin)"#;
        let uses_segment = r#"(func $copy
            (memory.init 2 (i32.const 24) (i32.const 1) (i32.const 3)))"#;
        for parts in [
            vec![segments],
            vec![segments, start],
            vec![start],
            vec![segments, start, uses_segment, "(export \"copy\" (func $copy))"],
        ] {
            let text = format!(
                "(module (memory (export \"memory\") 1) (global $at i32 (i32.const 6))
                   (global $count (export \"count\") (mut i32) (i32.const 1)) {})",
                parts.join(" ")
            );
            let module = wat::parse_str(text).expect("it is well formed");
            let original = states(&module);
            let accessible = opened(&module);
            assert!(accessible.has_initializer);
            let states = states(&accessible.module);
            assert_eq!(states, [(vec![0; 32], 1), original[0].clone()], "{parts:?}");
        }
    }

    #[test]
    fn a_segment_that_code_names_keeps_its_bytes_and_its_index() {
        let module = wat::parse_str(
            r#"(module (memory (export "memory") 1) (global (export "count") (mut i32) (i32.const 0))
              (data (i32.const 0) "ab") (data "passive")
              (func (export "copy") (memory.init 1 (i32.const 8) (i32.const 0) (i32.const 7))))"#,
        );
        let engine = Engine::default();
        let module = Module::new(&engine, opened(&module.expect("well formed")).module);
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &module.expect("it compiles"), &[]);
        let instance = instance.expect("it begins");
        let copy = instance.get_typed_func::<(), ()>(&mut store, "copy").expect("it is there");
        copy.call(&mut store, ()).expect("it copies");
        let memory = instance.get_memory(&mut store, "memory").expect("it has a memory");
        assert_eq!(&memory.data(&store)[..15], b"\0\0\0\0\0\0\0\0passive");
    }

    #[test]
    fn a_module_without_data_and_start_has_no_initializer() {
        let module =
            wat::parse_str("(module (memory 1) (func (export \"f\")))").expect("it is fine");
        assert!(!opened(&module).has_initializer);
        let untouched = core_module::open(&module, Initialization::OnInstantiation);
        assert_eq!(opened(&module).module, untouched.expect("it is fine").module);
    }
}
