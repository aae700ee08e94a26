//! A core module whose memories and mutable globals are exported under generated names. Indices and
//! code stay the same.
//!
//! In a runtime, initialization moves into a function as well ([`initializer`]).

use wasm_encoder::{Encode as _, ExportKind, Module, RawSection, SectionId};
use wasmparser::{BinaryReader, Operator, Parser, Payload, TypeRef, ValType};

use super::{
    initializer::{self, Initialization},
    section_bytes,
};

/// The order of the sections of a module.
const ORDER: [SectionId; 13] = [
    SectionId::Type,
    SectionId::Import,
    SectionId::Function,
    SectionId::Table,
    SectionId::Memory,
    SectionId::Tag,
    SectionId::Global,
    SectionId::Export,
    SectionId::Start,
    SectionId::Element,
    SectionId::DataCount,
    SectionId::Code,
    SectionId::Data,
];

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
    /// True if the module exports a function that initializes it.
    pub(super) has_initializer: bool,
}

/// The state that a module defines.
#[derive(Default)]
struct ModuleState {
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
pub(super) fn open(
    module: &[u8],
    initialization: Initialization,
) -> Result<AccessibleModule, String> {
    let found = look(module)?;
    let mut sections = ModuleSections::of(module)?;
    found.export_from(&mut sections)?;
    let has_initializer = match initialization {
        Initialization::OnInstantiation => false,
        Initialization::OnCall => initializer::add(module, &mut sections)?,
    };
    let ModuleState { memories, globals, .. } = found;
    let globals = globals.into_iter().map(|(_, of)| of).collect();
    Ok(AccessibleModule { module: sections.finish(), memories, globals, has_initializer })
}

/// The sections of a module, to which entries are added.
pub(super) struct ModuleSections(Vec<(u8, Vec<u8>)>);

impl ModuleSections {
    fn of(module: &[u8]) -> Result<Self, String> {
        let mut sections = Vec::new();
        for payload in Parser::new(0).parse_all(module) {
            let payload = payload.map_err(|error| error.to_string())?;
            if let Some((id, range)) = payload.as_section() {
                sections.push((id, section_bytes(module, range).to_vec()));
            }
        }
        Ok(Self(sections))
    }

    /// Adds `count` encoded entries at the end of a section, which may be missing.
    pub(super) fn append(
        &mut self,
        section: SectionId,
        count: u32,
        entries: &[u8],
    ) -> Result<(), String> {
        let id = section as u8;
        let Some((_, bytes)) = self.0.iter_mut().find(|(found, _)| *found == id) else {
            let mut bytes = Vec::new();
            count.encode(&mut bytes);
            bytes.extend_from_slice(entries);
            self.put(section, bytes);
            return Ok(());
        };
        let mut reader = BinaryReader::new(bytes, 0);
        let present = reader.read_var_u32().map_err(|error| error.to_string())?;
        let mut appended = Vec::with_capacity(bytes.len() + entries.len() + 1);
        (present + count).encode(&mut appended);
        appended.extend_from_slice(&bytes[reader.current_position()..]);
        appended.extend_from_slice(entries);
        *bytes = appended;
        Ok(())
    }

    /// Replaces a section, or adds it in its place.
    pub(super) fn put(&mut self, section: SectionId, bytes: Vec<u8>) {
        self.remove(section);
        let rank = |id: u8| ORDER.iter().position(|known| *known as u8 == id);
        let later = |(id, _): &(u8, Vec<u8>)| rank(*id) > rank(section as u8);
        let place = self.0.iter().position(later).unwrap_or(self.0.len());
        self.0.insert(place, (section as u8, bytes));
    }

    /// Removes a section.
    pub(super) fn remove(&mut self, section: SectionId) {
        self.0.retain(|(id, _)| *id != section as u8);
    }

    fn finish(self) -> Vec<u8> {
        let mut module = Module::new();
        for (id, data) in &self.0 {
            module.section(&RawSection { id: *id, data });
        }
        module.finish()
    }
}

/// Collects the memories and mutable globals that the module defines.
fn look(module: &[u8]) -> Result<ModuleState, String> {
    let mut found = ModuleState::default();
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

impl ModuleState {
    fn export_from(&self, sections: &mut ModuleSections) -> Result<(), String> {
        let (mut count, mut entries) = (0, Vec::new());
        let mut export = |name: String, kind: ExportKind, index: u32| {
            count += 1;
            export_entry(&name, kind, index, &mut entries);
        };
        for (n, index) in (0..self.memories).zip(self.imported_memories..) {
            export(memory_name(n), ExportKind::Memory, index);
        }
        for (n, (index, _)) in self.globals.iter().enumerate() {
            export(global_name(n), ExportKind::Global, *index);
        }
        match count {
            0 => Ok(()),
            count => sections.append(SectionId::Export, count, &entries),
        }
    }
}

/// Writes one entry of an export section.
pub(super) fn export_entry(name: &str, kind: ExportKind, index: u32, into: &mut Vec<u8>) {
    name.encode(into);
    kind.encode(into);
    index.encode(into);
}
