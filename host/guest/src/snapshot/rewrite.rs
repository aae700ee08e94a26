//! A component whose memory the host can read and put back: the same component, with a part more.
//!
//! Components hide what their core modules keep. So the module that has the memory, and those with
//! variables, export these under names of ours, and what is appended to the component hands them
//! to an [accessor], whose functions the component exports. Indices that were there stay as they
//! are, and so does all code.

use wasm_encoder::{
    Alias, CanonicalFunctionSection, CanonicalOption, Component, ComponentAliasSection,
    ComponentExportKind, ComponentExportSection, ComponentTypeSection, ComponentValType,
    ExportKind, InstanceSection, ModuleArg, ModuleSection, PrimitiveValType, RawSection,
};
use wasmparser::{
    ComponentAlias, ComponentOuterAliasKind, Instance, Parser, Payload, ValType, Validator,
    WasmFeatures,
};

use super::{
    accessor::{self, Exported, FUNCTIONS, GLOBALS_MODULE, Kind, MEMORY_MODULE, REALLOC},
    composed,
    core_module::{self, MEMORY, global_name},
    section_bytes,
};

/// The number of the section of a core module in a component.
const CORE_MODULE: u8 = 1;

/// A core instance that keeps something.
struct Keeper {
    instance: u32,
    has_memory: bool,
    globals: Vec<ValType>,
}

/// The component, with a way to all that it keeps between two calls.
///
/// # Errors
/// The reason: the component keeps something that an accessor cannot read.
pub(crate) fn rewrite(component: &[u8]) -> Result<Vec<u8>, String> {
    match composed::rewrite(component)? {
        Some(rewritten) => Ok(rewritten),
        None => rewrite_part(component),
    }
}

/// The same of a component whose core modules are its own.
pub(super) fn rewrite_part(component: &[u8]) -> Result<Vec<u8>, String> {
    let mut rewritten = Component::new();
    let (mut modules, mut keepers) = (Vec::new(), Vec::new());
    let (mut instances, mut depth) = (0, 0);
    for payload in Parser::new(0).parse_all(component) {
        let payload = payload.map_err(|error| error.to_string())?;
        match &payload {
            Payload::ModuleSection { .. } if depth > 1 => {
                return Err("it is composed of components".into());
            }
            Payload::ModuleSection { unchecked_range, .. } => {
                depth += 1;
                let module = section_bytes(component, unchecked_range.clone());
                let opened = core_module::open(module)?;
                rewritten.section(&RawSection { id: CORE_MODULE, data: &opened.module });
                modules.push(opened);
                continue;
            }
            Payload::Version { .. } if depth == 0 => depth = 1,
            Payload::ComponentSection { .. } => {
                if depth == 1 {
                    copy(component, &payload, &mut rewritten);
                }
                depth += 1;
                continue;
            }
            Payload::End(_) => depth -= 1,
            _ => {}
        }
        if depth != 1 {
            continue;
        }
        match &payload {
            Payload::InstanceSection(section) => {
                for instance in section.clone() {
                    let instance = instance.map_err(|error| error.to_string())?;
                    if let Instance::Instantiate { module_index, .. } = instance {
                        let module = modules.get(module_index as usize);
                        let module = module.ok_or("it takes core modules from elsewhere")?;
                        let (has_memory, globals) = (module.has_memory, module.globals.clone());
                        keepers.push(Keeper { instance: instances, has_memory, globals });
                    }
                    instances += 1;
                }
            }
            Payload::ComponentAliasSection(section) => {
                for alias in section.clone() {
                    let alias = alias.map_err(|error| error.to_string())?;
                    if is_of_module(&alias) {
                        return Err("it takes core modules from elsewhere".into());
                    }
                }
            }
            _ => {}
        }
        copy(component, &payload, &mut rewritten);
    }
    append(&mut rewritten, component, &keepers)?;
    let rewritten = rewritten.finish();
    validated(&rewritten)?;
    Ok(rewritten)
}

/// Copies a section as it is.
pub(super) fn copy(component: &[u8], payload: &Payload<'_>, into: &mut Component) {
    if let Some((id, range)) = payload.as_section() {
        into.section(&RawSection { id, data: section_bytes(component, range) });
    }
}

fn is_of_module(alias: &ComponentAlias<'_>) -> bool {
    match alias {
        ComponentAlias::InstanceExport { kind, .. } => {
            *kind == wasmparser::ComponentExternalKind::Module
        }
        ComponentAlias::Outer { kind, .. } => *kind == ComponentOuterAliasKind::CoreModule,
        ComponentAlias::CoreInstanceExport { .. } => false,
    }
}

/// Appends the accessor, and exports its functions.
fn append(into: &mut Component, component: &[u8], keepers: &[Keeper]) -> Result<(), String> {
    let types = validated(component)?;
    let types = types.as_ref();
    let memories: Vec<&Keeper> = keepers.iter().filter(|keeper| keeper.has_memory).collect();
    let [keeper] = memories.as_slice() else {
        return Err(format!("it has {} memories, and not one", memories.len()));
    };
    let globals: Vec<ValType> =
        keepers.iter().flat_map(|keeper| keeper.globals.iter().copied()).collect();
    into.section(&ModuleSection(&accessor::module(&globals)));

    // What the accessor is given.
    let mut aliases = ComponentAliasSection::new();
    aliases.alias(of(keeper.instance, ExportKind::Memory, MEMORY));
    for keeper in keepers {
        for n in 0..keeper.globals.len() {
            aliases.alias(of(keeper.instance, ExportKind::Global, &global_name(n)));
        }
    }
    into.section(&aliases);
    let (memory, first_global) = (types.memory_count(), types.global_count());
    let mut made = InstanceSection::new();
    made.export_items([(MEMORY_MODULE, ExportKind::Memory, memory)]);
    let named = (0..globals.len() as u32)
        .map(|n| (n.to_string(), ExportKind::Global, first_global + n))
        .collect::<Vec<_>>();
    made.export_items(named.iter().map(|(name, kind, index)| (name.as_str(), *kind, *index)));
    let first_instance = types.core_instance_count();
    made.instantiate(
        types.module_count(),
        [
            (MEMORY_MODULE, ModuleArg::Instance(first_instance)),
            (GLOBALS_MODULE, ModuleArg::Instance(first_instance + 1)),
        ],
    );
    into.section(&made);

    // Its functions, lifted.
    let accessor = first_instance + 2;
    let mut aliases = ComponentAliasSection::new();
    for function in &FUNCTIONS {
        aliases.alias(of(accessor, ExportKind::Func, function.name));
    }
    aliases.alias(of(accessor, ExportKind::Func, REALLOC));
    into.section(&aliases);
    let (first_core, first_type) = (types.function_count(), types.component_type_count());
    let mut lifted_types = ComponentTypeSection::new();
    lifted_types.defined_type().list(PrimitiveValType::U8);
    for function in &FUNCTIONS {
        of_function(function, first_type, &mut lifted_types);
    }
    into.section(&lifted_types);
    let realloc = first_core + FUNCTIONS.len() as u32;
    let mut lifts = CanonicalFunctionSection::new();
    for n in 0..FUNCTIONS.len() as u32 {
        let options = [CanonicalOption::Memory(memory), CanonicalOption::Realloc(realloc)];
        lifts.lift(first_core + n, first_type + 1 + n, options);
    }
    into.section(&lifts);
    let mut exports = ComponentExportSection::new();
    for (n, function) in (types.component_function_count()..).zip(&FUNCTIONS) {
        exports.export(function.export(0).as_str(), ComponentExportKind::Func, n, None);
    }
    into.section(&exports);
    Ok(())
}

/// An export of a core instance.
fn of(instance: u32, kind: ExportKind, name: &str) -> Alias<'_> {
    Alias::CoreInstanceExport { instance, kind, name }
}

/// Adds the type of a function; `bytes` is the type of its lists.
fn of_function(function: &Exported, bytes: u32, types: &mut ComponentTypeSection) {
    let kind = |kind: Kind| match kind {
        Kind::U32 => ComponentValType::Primitive(PrimitiveValType::U32),
        Kind::U64 => ComponentValType::Primitive(PrimitiveValType::U64),
        Kind::Bytes => ComponentValType::Type(bytes),
    };
    types
        .function()
        .params(function.params.iter().map(|(name, of)| (*name, kind(*of))))
        .result(function.result.map(kind));
}

pub(super) fn validated(component: &[u8]) -> Result<wasmparser::types::Types, String> {
    let mut validator = Validator::new_with_features(WasmFeatures::all());
    validator.validate_all(component).map_err(|error| error.to_string())
}
