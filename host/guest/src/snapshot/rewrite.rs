//! A component whose memory the host can read and restore: the same component with an added part.
//!
//! Components hide the state of their core modules. Modules with memories or mutable globals
//! therefore export these under generated names, and the appended part passes them to an [accessor]
//! for each memory, whose functions the component exports. Existing indices and all code stay the
//! same.

use wasm_encoder::{
    Alias, CanonicalFunctionSection, CanonicalOption, Component, ComponentAliasSection,
    ComponentExportKind, ComponentExportSection, ComponentTypeSection, ComponentValType,
    ExportKind, InstanceSection, ModuleArg, ModuleSection, PrimitiveValType, RawSection,
};
use wasmparser::{Instance, Parser, Payload, ValType, Validator, WasmFeatures};

use super::{
    accessor::{
        self, ACCESSORS, AccessorExport, AccessorType, DROP_HANDLE, GLOBALS_MODULE, HANDLES_MODULE,
        MEMORY_MODULE, NEW_HANDLE, REALLOC,
    },
    composed,
    core_module::{self, global_name, memory_name},
    initializer::{INITIALIZER, Initialization},
    section_bytes,
    survey::knows_resources,
};

/// Section id of a core module in a component.
const CORE_MODULE: u8 = 1;

/// A core instance that keeps state.
struct StatefulInstance {
    instance: u32,
    memories: usize,
    globals: Vec<ValType>,
    has_initializer: bool,
}

/// A component that was made accessible.
pub(super) struct AccessibleComponent {
    pub(super) component: Vec<u8>,
    /// Number of accessors in the component.
    pub(super) accessors: usize,
    /// Number of initializers in the component.
    pub(super) initializers: usize,
}

/// Adds accessors for all state that the component keeps between two calls.
///
/// # Errors
/// The reason: the component keeps state that an accessor cannot read.
pub(crate) fn rewrite(component: &[u8], initialization: Initialization) -> Result<Vec<u8>, String> {
    let takes_handles = knows_resources(component)?;
    match composed::rewrite(component, takes_handles, initialization)? {
        Some(rewritten) => Ok(rewritten),
        None => Ok(rewrite_part(component, takes_handles, initialization)?.component),
    }
}

/// Like [`rewrite`], for a component with own core modules.
pub(super) fn rewrite_part(
    component: &[u8],
    takes_handles: bool,
    initialization: Initialization,
) -> Result<AccessibleComponent, String> {
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
                let opened = core_module::open(module, initialization)?;
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
        if let Payload::InstanceSection(section) = &payload {
            for instance in section.clone() {
                let instance = instance.map_err(|error| error.to_string())?;
                if let Instance::Instantiate { module_index, .. } = instance {
                    let module = modules.get(module_index as usize);
                    let module = module.ok_or("it takes core modules from elsewhere")?;
                    keepers.push(StatefulInstance {
                        instance: instances,
                        memories: module.memories,
                        globals: module.globals.clone(),
                        has_initializer: module.has_initializer,
                    });
                }
                instances += 1;
            }
        }
        copy(component, &payload, &mut rewritten);
    }
    let accessors = append(&mut rewritten, component, &keepers, takes_handles)?;
    let component = rewritten.finish();
    validated(&component)?;
    let initializers = keepers.iter().filter(|keeper| keeper.has_initializer).count();
    Ok(AccessibleComponent { component, accessors, initializers })
}

/// Copies a section unchanged.
pub(super) fn copy(component: &[u8], payload: &Payload<'_>, into: &mut Component) {
    if let Some((id, range)) = payload.as_section() {
        into.section(&RawSection { id, data: section_bytes(component, range) });
    }
}

/// Appends an accessor for each memory and exports their functions, and exports all initializers.
/// The first accessor gets all globals, and takes handles. Returns the number of accessors.
fn append(
    into: &mut Component,
    component: &[u8],
    keepers: &[StatefulInstance],
    takes_handles: bool,
) -> Result<usize, String> {
    let types = validated(component)?;
    let types = types.as_ref();
    let of_keeper = |keeper: &StatefulInstance| {
        let instance = keeper.instance;
        (0..keeper.memories).map(move |n| (instance, n))
    };
    let memories: Vec<(u32, usize)> = keepers.iter().flat_map(of_keeper).collect();
    if memories.is_empty() || memories.len() > ACCESSORS {
        return Err(format!("it has {} memories, and not 1 to {ACCESSORS}", memories.len()));
    }
    let globals: Vec<ValType> =
        keepers.iter().flat_map(|keeper| keeper.globals.iter().copied()).collect();
    into.section(&ModuleSection(&accessor::module(&globals, takes_handles)));
    if memories.len() > 1 {
        into.section(&ModuleSection(&accessor::module(&[], false)));
    }

    // Aliases for the imports of the accessors.
    let mut aliases = ComponentAliasSection::new();
    for (instance, n) in &memories {
        aliases.alias(of(*instance, ExportKind::Memory, &memory_name(*n)));
    }
    for keeper in keepers {
        for n in 0..keeper.globals.len() {
            aliases.alias(of(keeper.instance, ExportKind::Global, &global_name(n)));
        }
    }
    into.section(&aliases);
    let (first_memory, first_global) = (types.memory_count(), types.global_count());
    let (mut next_core, mut next_type) = (types.function_count(), types.component_type_count());
    let handles = next_core;
    if takes_handles {
        let mut resource = ComponentTypeSection::new();
        resource.resource(wasm_encoder::ValType::I32, None);
        into.section(&resource);
        let mut functions = CanonicalFunctionSection::new();
        functions.resource_new(next_type).resource_drop(next_type);
        into.section(&functions);
        (next_core, next_type) = (next_core + 2, next_type + 1);
    }

    // Instances of the accessors.
    let mut made = InstanceSection::new();
    let named = (0..globals.len() as u32)
        .map(|n| (n.to_string(), ExportKind::Global, first_global + n))
        .collect::<Vec<_>>();
    made.export_items(named.iter().map(|(name, kind, index)| (name.as_str(), *kind, *index)));
    let with_globals = types.core_instance_count();
    let mut next_instance = with_globals + 1;
    let mut arguments = vec![(GLOBALS_MODULE, ModuleArg::Instance(with_globals))];
    if takes_handles {
        let functions = [(NEW_HANDLE, handles), (DROP_HANDLE, handles + 1)];
        made.export_items(functions.map(|(name, index)| (name, ExportKind::Func, index)));
        arguments.push((HANDLES_MODULE, ModuleArg::Instance(next_instance)));
        next_instance += 1;
    }
    let mut accessors = Vec::with_capacity(memories.len());
    for (memory, module) in
        (first_memory..).zip([0].into_iter().chain(std::iter::repeat(1))).take(memories.len())
    {
        made.export_items([(MEMORY_MODULE, ExportKind::Memory, memory)]);
        let mut arguments = if module == 0 { arguments.clone() } else { Vec::new() };
        arguments.push((MEMORY_MODULE, ModuleArg::Instance(next_instance)));
        made.instantiate(types.module_count() + module, arguments);
        accessors.push(next_instance + 1);
        next_instance += 2;
    }
    into.section(&made);

    // The lifted functions of the accessors.
    let all = accessor::functions(takes_handles);
    let mut lifted_types = ComponentTypeSection::new();
    lifted_types.defined_type().list(PrimitiveValType::U8);
    for function in all {
        of_function(function, next_type, &mut lifted_types);
    }
    let of_initializer = next_type + 1 + all.len() as u32;
    let none: [(&str, ComponentValType); 0] = [];
    lifted_types.function().params(none).result(None);
    into.section(&lifted_types);
    let (mut aliases, mut lifts, mut exports) = (
        ComponentAliasSection::new(),
        CanonicalFunctionSection::new(),
        ComponentExportSection::new(),
    );
    let mut next_function = types.component_function_count();
    for (number, (instance, memory)) in accessors.into_iter().zip(first_memory..).enumerate() {
        let functions = accessor::functions(takes_handles && number == 0);
        let realloc = next_core + functions.len() as u32;
        for (function, of_type) in functions.iter().zip(next_type + 1..) {
            aliases.alias(of(instance, ExportKind::Func, function.name));
            let options = [CanonicalOption::Memory(memory), CanonicalOption::Realloc(realloc)];
            lifts.lift(next_core, of_type, options);
            let name = function.export(number);
            exports.export(name.as_str(), ComponentExportKind::Func, next_function, None);
            (next_core, next_function) = (next_core + 1, next_function + 1);
        }
        aliases.alias(of(instance, ExportKind::Func, REALLOC));
        next_core += 1;
    }
    let initialized = keepers.iter().filter(|keeper| keeper.has_initializer);
    for (number, keeper) in initialized.enumerate() {
        aliases.alias(of(keeper.instance, ExportKind::Func, INITIALIZER));
        lifts.lift(next_core, of_initializer, []);
        let name = accessor::initializer(number);
        exports.export(name.as_str(), ComponentExportKind::Func, next_function, None);
        (next_core, next_function) = (next_core + 1, next_function + 1);
    }
    into.section(&aliases);
    into.section(&lifts);
    into.section(&exports);
    Ok(memories.len())
}

/// Alias of an export of a core instance.
fn of(instance: u32, kind: ExportKind, name: &str) -> Alias<'_> {
    Alias::CoreInstanceExport { instance, kind, name }
}

/// Adds the type of a function; `bytes` is the index of its list type.
fn of_function(function: &AccessorExport, bytes: u32, types: &mut ComponentTypeSection) {
    let kind = |kind: AccessorType| match kind {
        AccessorType::U32 => ComponentValType::Primitive(PrimitiveValType::U32),
        AccessorType::U64 => ComponentValType::Primitive(PrimitiveValType::U64),
        AccessorType::Bytes => ComponentValType::Type(bytes),
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
