//! Surveys a component outside its core modules: it detects resource handles, and constructs that
//! would hide an instance of its code from a search for all instances.

use wasmparser::{
    CanonicalFunction, ComponentAlias, ComponentExternalKind, ComponentOuterAliasKind,
    ComponentType, ComponentTypeDeclaration, ComponentTypeRef, InstanceTypeDeclaration, Parser,
    Payload, TypeBounds,
};

/// Returns true if the component, or a nested one, uses resources: only then can it hold handles.
///
/// # Errors
/// The component passes modules or components around, so that uncounted instances may exist, or
/// keeps state other than memories, globals and handles.
pub(super) fn knows_resources(component: &[u8]) -> Result<bool, String> {
    let mut found = false;
    for payload in Parser::new(0).parse_all(component) {
        match payload.map_err(text)? {
            Payload::ComponentTypeSection(types) => {
                for of in types {
                    found |= has_resource(&of.map_err(text)?);
                }
            }
            Payload::ComponentImportSection(imports) => {
                for import in imports {
                    let of = import.map_err(text)?.ty;
                    refuse_code(of.kind())?;
                    found |= is_resource(&of);
                }
            }
            Payload::ComponentExportSection(exports) => {
                for export in exports {
                    refuse_code(export.map_err(text)?.kind)?;
                }
            }
            Payload::ComponentAliasSection(aliases) => {
                for alias in aliases {
                    match alias.map_err(text)? {
                        ComponentAlias::InstanceExport { kind, .. } => refuse_code(kind)?,
                        ComponentAlias::Outer { kind, .. } => match kind {
                            ComponentOuterAliasKind::CoreModule => {
                                return Err(elsewhere("core modules"));
                            }
                            ComponentOuterAliasKind::Component => {
                                return Err(elsewhere("components"));
                            }
                            ComponentOuterAliasKind::CoreType | ComponentOuterAliasKind::Type => {}
                        },
                        ComponentAlias::CoreInstanceExport { .. } => {}
                    }
                }
            }
            Payload::ComponentCanonicalSection(functions) => {
                for function in functions {
                    match function.map_err(text)? {
                        CanonicalFunction::Lift { .. }
                        | CanonicalFunction::Lower { .. }
                        | CanonicalFunction::ResourceNew { .. }
                        | CanonicalFunction::ResourceDrop { .. }
                        | CanonicalFunction::ResourceRep { .. } => {}
                        other => return Err(format!("it uses {other:?}")),
                    }
                }
            }
            Payload::ComponentStartSection { .. } => {
                return Err("it has a start function of its own".to_owned());
            }
            _ => {}
        }
    }
    Ok(found)
}

/// Refuses modules and components that are imported, exported or taken from an instance: they have
/// indices of their own, under which they may be instantiated again.
fn refuse_code(kind: ComponentExternalKind) -> Result<(), String> {
    match kind {
        ComponentExternalKind::Module => Err(elsewhere("core modules")),
        ComponentExternalKind::Component => Err(elsewhere("components")),
        ComponentExternalKind::Func
        | ComponentExternalKind::Value
        | ComponentExternalKind::Type
        | ComponentExternalKind::Instance => Ok(()),
    }
}

fn elsewhere(what: &str) -> String {
    format!("it hands {what} around")
}

fn has_resource(of: &ComponentType<'_>) -> bool {
    match of {
        ComponentType::Resource { .. } => true,
        ComponentType::Component(declared) => declared.iter().any(|declared| match declared {
            ComponentTypeDeclaration::Type(of) => has_resource(of),
            ComponentTypeDeclaration::Export { ty, .. } => is_resource(ty),
            ComponentTypeDeclaration::Import(import) => is_resource(&import.ty),
            ComponentTypeDeclaration::CoreType(_) | ComponentTypeDeclaration::Alias(_) => false,
        }),
        ComponentType::Instance(declared) => declared.iter().any(|declared| match declared {
            InstanceTypeDeclaration::Type(of) => has_resource(of),
            InstanceTypeDeclaration::Export { ty, .. } => is_resource(ty),
            InstanceTypeDeclaration::CoreType(_) | InstanceTypeDeclaration::Alias(_) => false,
        }),
        ComponentType::Defined(_) | ComponentType::Func(_) => false,
    }
}

fn is_resource(of: &ComponentTypeRef) -> bool {
    matches!(of, ComponentTypeRef::Type(TypeBounds::SubResource))
}

fn text(error: wasmparser::BinaryReaderError) -> String {
    error.to_string()
}
