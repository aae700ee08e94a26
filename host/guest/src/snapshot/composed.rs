//! A component that is composed of others, each with its own core modules: every such part gets
//! accessors, and the whole exports the functions of all of them.

use wasm_encoder::{
    Alias, Component, ComponentAliasSection, ComponentExportKind, ComponentExportSection,
    RawSection,
};
use wasmparser::{ComponentInstance, Parser, Payload, Validator, WasmFeatures};

use super::{
    accessor::{ACCESSORS, functions, initializer},
    initializer::Initialization,
    rewrite::{AccessibleComponent, copy, rewrite_part, validated},
    section_bytes,
};

/// Section id of a nested component.
const COMPONENT: u8 = 4;

/// A nested component that has core modules, and so may keep state.
struct NestedComponent {
    component: u32,
    accessors: usize,
    initializers: usize,
    /// Index of its only instance.
    instance: Option<u32>,
}

/// Adds accessors for all parts to the component. `None` if the component has core modules itself
/// instead of parts.
///
/// # Errors
/// The reason: the component keeps state that an accessor cannot read.
pub(super) fn rewrite(
    component: &[u8],
    takes_handles: bool,
    initialization: Initialization,
) -> Result<Option<Vec<u8>>, String> {
    let mut rewritten = Component::new();
    let mut validator = Validator::new_with_features(WasmFeatures::all());
    let (mut parts, mut depth, mut has_modules) = (Vec::<NestedComponent>::new(), 0, false);
    for payload in Parser::new(0).parse_all(component) {
        let payload = payload.map_err(|error| error.to_string())?;
        // The next component and instance get these indices.
        let types = if depth == 1 { validator.types(0) } else { None };
        let numbers =
            types.map(|types| (types.component_count(), types.component_instance_count()));
        validator.payload(&payload).map_err(|error| error.to_string())?;
        match (&payload, numbers) {
            (Payload::Version { .. }, _) if depth == 0 => depth = 1,
            (Payload::ModuleSection { .. }, _) => {
                if depth == 1 {
                    has_modules = true;
                    copy(component, &payload, &mut rewritten);
                }
                depth += 1;
                continue;
            }
            (Payload::ComponentSection { unchecked_range, .. }, numbers) => {
                let inner = section_bytes(component, unchecked_range.clone());
                match numbers {
                    Some((number, _)) if keeps(inner)? => {
                        let AccessibleComponent { component: data, accessors, initializers } =
                            rewrite_part(inner, takes_handles, initialization)?;
                        rewritten.section(&RawSection { id: COMPONENT, data: &data });
                        parts.push(NestedComponent {
                            component: number,
                            accessors,
                            initializers,
                            instance: None,
                        });
                    }
                    Some(_) => copy(component, &payload, &mut rewritten),
                    None => {}
                }
                depth += 1;
                continue;
            }
            (Payload::ComponentInstanceSection(section), Some((_, first))) => {
                for (number, instance) in (first..).zip(section.clone()) {
                    let instance = instance.map_err(|error| error.to_string())?;
                    let ComponentInstance::Instantiate { component_index, .. } = instance else {
                        continue;
                    };
                    let part = parts.iter_mut().find(|part| part.component == component_index);
                    if let Some(part) = part
                        && part.instance.replace(number).is_some()
                    {
                        return Err("a part of it has several instances".to_owned());
                    }
                }
            }
            (Payload::End(_), _) => depth -= 1,
            _ => {}
        }
        if depth == 1 {
            copy(component, &payload, &mut rewritten);
        }
    }
    if parts.is_empty() {
        return Ok(None);
    }
    if has_modules {
        return Err("it is composed of components, and has core modules as well".to_owned());
    }
    let accessors: usize = parts.iter().map(|part| part.accessors).sum();
    if accessors > ACCESSORS {
        return Err(format!("it has {accessors} memories, and not 1 to {ACCESSORS}"));
    }
    // Accessors have the order in which the memories behind them are created.
    parts.sort_by_key(|part| part.instance);
    append(&mut rewritten, component, &parts, takes_handles)?;
    let rewritten = rewritten.finish();
    validated(&rewritten)?;
    Ok(Some(rewritten))
}

/// Returns true if a component has core modules. The components that only wrap the exports of
/// another have none.
fn keeps(component: &[u8]) -> Result<bool, String> {
    for payload in Parser::new(0).parse_all(component) {
        if let Payload::ModuleSection { .. } = payload.map_err(|error| error.to_string())? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Exports the functions of the accessors of all parts, and their initializers.
fn append(
    into: &mut Component,
    component: &[u8],
    parts: &[NestedComponent],
    takes_handles: bool,
) -> Result<(), String> {
    let types = validated(component)?;
    let (mut aliases, mut exports) = (ComponentAliasSection::new(), ComponentExportSection::new());
    let mut numbers = types.as_ref().component_function_count()..;
    let (mut accessors, mut initializers) = (0.., 0..);
    for part in parts {
        let instance = part.instance.ok_or("a part of it is instantiated elsewhere")?;
        let mut export = |inner: &str, outer: &str| {
            let kind = ComponentExportKind::Func;
            aliases.alias(Alias::InstanceExport { instance, kind, name: inner });
            let number = numbers.next().expect("there are as many as one wants");
            exports.export(outer, kind, number, None);
        };
        for (inner, outer) in (0..part.accessors).zip(&mut accessors) {
            for function in functions(takes_handles && inner == 0) {
                export(&function.export(inner), &function.export(outer));
            }
        }
        for (inner, outer) in (0..part.initializers).zip(&mut initializers) {
            export(&initializer(inner), &initializer(outer));
        }
    }
    into.section(&aliases);
    into.section(&exports);
    Ok(())
}
