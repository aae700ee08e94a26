//! A component that is composed of others, each with core modules of its own: every such part gets an
//! accessor, and the whole exports the functions of all of them.

use wasm_encoder::{
    Alias, Component, ComponentAliasSection, ComponentExportKind, ComponentExportSection,
    RawSection,
};
use wasmparser::{ComponentInstance, Parser, Payload, Validator, WasmFeatures};

use super::{
    accessor::{FUNCTIONS, PARTS},
    rewrite::{copy, rewrite_part, validated},
    section_bytes,
};

/// The number of the section of a component in a component.
const COMPONENT: u8 = 4;

/// A component in the component that has core modules, and so may keep something.
struct Part {
    component: u32,
    /// Its only instance.
    instance: Option<u32>,
}

/// The component with a way to all that its parts keep; none: its core modules are its own.
///
/// # Errors
/// The reason: the component keeps something that an accessor cannot read.
pub(super) fn rewrite(component: &[u8]) -> Result<Option<Vec<u8>>, String> {
    let mut rewritten = Component::new();
    let mut validator = Validator::new_with_features(WasmFeatures::all());
    let (mut parts, mut depth, mut has_modules) = (Vec::<Part>::new(), 0, false);
    for payload in Parser::new(0).parse_all(component) {
        let payload = payload.map_err(|error| error.to_string())?;
        // What comes next has these numbers.
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
                        let data = rewrite_part(inner)?;
                        rewritten.section(&RawSection { id: COMPONENT, data: &data });
                        parts.push(Part { component: number, instance: None });
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
    if has_modules || parts.len() > PARTS {
        return Err("it is composed of components, and has core modules beside them".to_owned());
    }
    append(&mut rewritten, component, &parts)?;
    let rewritten = rewritten.finish();
    validated(&rewritten)?;
    Ok(Some(rewritten))
}

/// Whether a component has core modules: those that the exports of one are wrapped in have none.
fn keeps(component: &[u8]) -> Result<bool, String> {
    for payload in Parser::new(0).parse_all(component) {
        if let Payload::ModuleSection { .. } = payload.map_err(|error| error.to_string())? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Exports the functions of the accessors of all parts.
fn append(into: &mut Component, component: &[u8], parts: &[Part]) -> Result<(), String> {
    let types = validated(component)?;
    let (mut aliases, mut exports) = (ComponentAliasSection::new(), ComponentExportSection::new());
    let mut numbers = types.as_ref().component_function_count()..;
    for (place, part) in parts.iter().enumerate() {
        let instance = part.instance.ok_or("a part of it is instantiated elsewhere")?;
        for function in &FUNCTIONS {
            let (kind, name) = (ComponentExportKind::Func, function.export(0));
            aliases.alias(Alias::InstanceExport { instance, kind, name: &name });
            let number = numbers.next().expect("there are as many as one wants");
            exports.export(function.export(place).as_str(), kind, number, None);
        }
    }
    into.section(&aliases);
    into.section(&exports);
    Ok(())
}
