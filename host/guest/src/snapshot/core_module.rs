//! A core module whose memories and mutable globals are exported under generated names. Nothing
//! else changes: indices, code and data stay the same.

use wasm_encoder::{ExportKind, ExportSection, Module, RawSection, SectionId};
use wasmparser::{ExternalKind, Operator, Parser, Payload, TypeRef, ValType};

use super::section_bytes;

/// The name under which the `n`th memory that the module defines is exported.
pub(super) fn memory_name(n: usize) -> String {
    format!("segno:memory:{n}")
}

/// The name under which the `n`th mutable global is exported.
pub(super) fn global_name(n: usize) -> String {
    format!("segno:global:{n}")
}

/// A core module, made accessible.
pub(super) struct AccessibleModule {
    pub(super) module: Vec<u8>,
    /// Number of memories that the module defines.
    pub(super) memories: usize,
    /// The types of its mutable globals, in the order of their names.
    pub(super) globals: Vec<ValType>,
}

/// The existing and the added exports of a module.
#[derive(Default)]
struct ModuleExports {
    imported_globals: u32,
    imported_memories: u32,
    memories: usize,
    /// Index and type of each mutable global.
    globals: Vec<(u32, ValType)>,
}

/// Makes `module` accessible.
///
/// # Errors
/// The module keeps state that can be neither read nor restored.
pub(super) fn open(module: &[u8]) -> Result<AccessibleModule, String> {
    let found = look(module)?;
    let mut opened = Module::new();
    let mut exported = false;
    for payload in Parser::new(0).parse_all(module) {
        let payload = payload.map_err(|error| error.to_string())?;
        if let Payload::ExportSection(exports) = &payload {
            let mut section = ExportSection::new();
            for export in exports.clone() {
                let export = export.map_err(|error| error.to_string())?;
                section.export(export.name, kind(export.kind)?, export.index);
            }
            found.add_to(&mut section);
            opened.section(&section);
            exported = true;
            continue;
        }
        let Some((id, range)) = payload.as_section() else { continue };
        // Sections that follow the exports, in the order of a module.
        let follows = [
            SectionId::Start,
            SectionId::Element,
            SectionId::DataCount,
            SectionId::Code,
            SectionId::Data,
        ];
        if !exported && follows.iter().any(|section| *section as u8 == id) {
            let mut section = ExportSection::new();
            found.add_to(&mut section);
            opened.section(&section);
            exported = true;
        }
        opened.section(&RawSection { id, data: section_bytes(module, range) });
    }
    let ModuleExports { memories, globals, .. } = found;
    let globals = globals.into_iter().map(|(_, of)| of).collect();
    Ok(AccessibleModule { module: opened.finish(), memories, globals })
}

/// Collects the memories and mutable globals that the module defines.
fn look(module: &[u8]) -> Result<ModuleExports, String> {
    let mut found = ModuleExports::default();
    for payload in Parser::new(0).parse_all(module) {
        match payload.map_err(|error| error.to_string())? {
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    match import.map_err(|error| error.to_string())?.ty {
                        TypeRef::Global(_) => found.imported_globals += 1,
                        TypeRef::Memory(_) => found.imported_memories += 1,
                        _ => {}
                    }
                }
            }
            Payload::MemorySection(memories) => {
                for memory in memories {
                    let memory = memory.map_err(|error| error.to_string())?;
                    if memory.memory64 || memory.shared || memory.page_size_log2.is_some() {
                        return Err("its memory is not one of 32 bits and common pages".into());
                    }
                    found.memories += 1;
                }
            }
            Payload::GlobalSection(globals) => {
                for (n, global) in (found.imported_globals..).zip(globals) {
                    let of = global.map_err(|error| error.to_string())?.ty;
                    if of.mutable {
                        found.globals.push((n, plain(of.content_type)?));
                    }
                }
            }
            Payload::CodeSectionEntry(body) => {
                let operators = body.get_operators_reader().map_err(|error| error.to_string())?;
                for operator in operators {
                    check(&operator.map_err(|error| error.to_string())?)?;
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

/// Accepts types whose values are numbers of at most 64 bits.
fn plain(of: ValType) -> Result<ValType, String> {
    match of {
        ValType::I32 | ValType::I64 | ValType::F32 | ValType::F64 => Ok(of),
        other => Err(format!("it has a variable of type {other}")),
    }
}

/// Refuses instructions that change a table or drop a segment: an accessor can read neither.
fn check(operator: &Operator<'_>) -> Result<(), String> {
    let what = match operator {
        Operator::TableSet { .. }
        | Operator::TableGrow { .. }
        | Operator::TableFill { .. }
        | Operator::TableCopy { .. }
        | Operator::TableInit { .. } => "its code changes a table",
        Operator::ElemDrop { .. } | Operator::DataDrop { .. } => "its code drops segments",
        _ => return Ok(()),
    };
    Err(what.into())
}

impl ModuleExports {
    fn add_to(&self, section: &mut ExportSection) {
        for (n, index) in (0..self.memories).zip(self.imported_memories..) {
            section.export(&memory_name(n), ExportKind::Memory, index);
        }
        for (n, (index, _)) in self.globals.iter().enumerate() {
            section.export(&global_name(n), ExportKind::Global, *index);
        }
    }
}

fn kind(of: ExternalKind) -> Result<ExportKind, String> {
    Ok(match of {
        ExternalKind::Func => ExportKind::Func,
        ExternalKind::Table => ExportKind::Table,
        ExternalKind::Memory => ExportKind::Memory,
        ExternalKind::Global => ExportKind::Global,
        ExternalKind::Tag => ExportKind::Tag,
        ExternalKind::FuncExact => return Err("it exports a function by its exact type".into()),
    })
}
