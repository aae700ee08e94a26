//! The core module through which the host reads and writes what another one keeps: it imports that
//! memory and these variables, and does one thing in each of its functions.
//!
//! The canonical ABI copies lists from and to the guest's memory, so whole pages cross in one call:
//! `read` answers with a list that *is* the memory, and `write` takes one whose place is chosen by
//! the allocator of this module, which answers with the place that `aim` was told.

use wasm_encoder::{
    CodeSection, ConstExpr, EntityType, ExportKind, ExportSection, Function, FunctionSection,
    GlobalSection, GlobalType, ImportSection, InstructionSink, MemArg, MemoryType, Module,
    TypeSection, ValType,
};
use wasmparser::ValType as Of;

/// The module from which memory is imported, and that of the variables.
pub(super) const MEMORY_MODULE: &str = "memory";
pub(super) const GLOBALS_MODULE: &str = "globals";
/// The allocator for `write`.
pub(super) const REALLOC: &str = "realloc";

/// A function of the accessor, as the component exports it: parameters and result.
pub(super) struct Exported {
    pub(super) name: &'static str,
    pub(super) params: &'static [(&'static str, Kind)],
    pub(super) result: Option<Kind>,
}

/// A type that crosses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    U32,
    U64,
    Bytes,
}

/// What `read` makes of the first bytes of the memory while it answers: the place and the length
/// of the list.
pub(super) const CLOBBERED: usize = 8;

/// All of them, in the order of their code.
pub(super) const FUNCTIONS: [Exported; 10] = [
    Exported { name: "pages", params: &[], result: Some(Kind::U32) },
    Exported { name: "grow", params: &[("pages", Kind::U32)], result: Some(Kind::U32) },
    Exported { name: "peek", params: &[("at", Kind::U32)], result: Some(Kind::U64) },
    Exported { name: "poke", params: &[("at", Kind::U32), ("value", Kind::U64)], result: None },
    Exported {
        name: "read",
        params: &[("at", Kind::U32), ("len", Kind::U32)],
        result: Some(Kind::Bytes),
    },
    Exported { name: "aim", params: &[("at", Kind::U32)], result: None },
    Exported { name: "write", params: &[("bytes", Kind::Bytes)], result: None },
    Exported { name: "globals", params: &[], result: Some(Kind::U32) },
    Exported { name: "get", params: &[("index", Kind::U32)], result: Some(Kind::U64) },
    Exported { name: "set", params: &[("index", Kind::U32), ("bits", Kind::U64)], result: None },
];

/// The most parts that a component may be composed of: they are told apart by a letter.
pub(super) const PARTS: usize = 26;

/// The name under which a component exports a function of the accessor of one of its parts.
pub(super) fn export(part: usize, function: &str) -> String {
    let letter = (b'a'..=b'z').nth(part).map_or('z', char::from);
    format!("segno-snapshot-{letter}-{function}")
}

impl Exported {
    /// The name under which a component exports that of its part with this number.
    pub(super) fn export(&self, part: usize) -> String {
        export(part, self.name)
    }

    /// The values that it takes and gives in its core.
    fn core(&self) -> (Vec<ValType>, Vec<ValType>) {
        let flat = |kind: Kind| match kind {
            Kind::U32 => vec![ValType::I32],
            Kind::U64 => vec![ValType::I64],
            Kind::Bytes => vec![ValType::I32, ValType::I32],
        };
        let params = self.params.iter().flat_map(|(_, kind)| flat(*kind)).collect();
        // A list is answered by the place where its own place and length stand.
        let result = self.result.map(|kind| match kind {
            Kind::U64 => ValType::I64,
            Kind::U32 | Kind::Bytes => ValType::I32,
        });
        (params, result.into_iter().collect())
    }
}

/// The module for a memory and variables of these types.
pub(super) fn module(globals: &[Of]) -> Module {
    let (mut types, mut imports, mut functions) =
        (TypeSection::new(), ImportSection::new(), FunctionSection::new());
    let memory = MemoryType {
        minimum: 0,
        maximum: None,
        memory64: false,
        shared: false,
        page_size_log2: None,
    };
    imports.import(MEMORY_MODULE, MEMORY_MODULE, EntityType::Memory(memory));
    for (n, of) in globals.iter().enumerate() {
        let of = GlobalType { val_type: encoded(*of), mutable: true, shared: false };
        imports.import(GLOBALS_MODULE, &n.to_string(), EntityType::Global(of));
    }
    // The place for the next `write`.
    let aim = globals.len() as u32;
    let mut own = GlobalSection::new();
    let place = GlobalType { val_type: ValType::I32, mutable: true, shared: false };
    own.global(place, &ConstExpr::i32_const(0));

    let (mut exports, mut code) = (ExportSection::new(), CodeSection::new());
    for (n, function) in (0_u32..).zip(&FUNCTIONS) {
        let (params, results) = function.core();
        types.ty().function(params, results);
        functions.function(n);
        exports.export(function.name, ExportKind::Func, n);
        let mut body = Function::new([]);
        instructions(function.name, globals, aim, &mut body.instructions());
        code.function(&body);
    }
    let n = FUNCTIONS.len() as u32;
    types.ty().function([ValType::I32; 4], [ValType::I32]);
    functions.function(n);
    exports.export(REALLOC, ExportKind::Func, n);
    let mut body = Function::new([]);
    body.instructions().global_get(aim).end();
    code.function(&body);

    let mut module = Module::new();
    module
        .section(&types)
        .section(&imports)
        .section(&functions)
        .section(&own)
        .section(&exports)
        .section(&code);
    module
}

fn instructions(name: &str, globals: &[Of], aim: u32, code: &mut InstructionSink<'_>) {
    let at = |offset| MemArg { offset, align: 0, memory_index: 0 };
    match name {
        "pages" => code.memory_size(0),
        "grow" => code.local_get(0).memory_grow(0),
        "peek" => code.local_get(0).i64_load(at(0)),
        "poke" => code.local_get(0).local_get(1).i64_store(at(0)),
        "read" => {
            code.i32_const(0).local_get(0).i32_store(at(0));
            code.i32_const(0).local_get(1).i32_store(at(4));
            code.i32_const(0)
        }
        "aim" => code.local_get(0).global_set(aim),
        "globals" => code.i32_const(globals.len() as i32),
        "get" => {
            for (n, of) in (0_u32..).zip(globals) {
                chosen(n, code);
                code.global_get(n);
                match of {
                    Of::I32 => code.i64_extend_i32_u(),
                    Of::F32 => code.i32_reinterpret_f32().i64_extend_i32_u(),
                    Of::F64 => code.i64_reinterpret_f64(),
                    _ => &mut *code,
                };
                code.return_().end();
            }
            code.unreachable()
        }
        "set" => {
            for (n, of) in (0_u32..).zip(globals) {
                chosen(n, code);
                code.local_get(1);
                match of {
                    Of::I32 => code.i32_wrap_i64(),
                    Of::F32 => code.i32_wrap_i64().f32_reinterpret_i32(),
                    Of::F64 => code.f64_reinterpret_i64(),
                    _ => &mut *code,
                };
                code.global_set(n).return_().end();
            }
            code.unreachable()
        }
        // The bytes are where they belong by the time that it is called.
        _ => code,
    };
    code.end();
}

/// Begins what is done if the first parameter is `n`.
fn chosen(n: u32, code: &mut InstructionSink<'_>) {
    code.local_get(0).i32_const(n as i32).i32_eq().if_(wasm_encoder::BlockType::Empty);
}

fn encoded(of: Of) -> ValType {
    match of {
        Of::I32 => ValType::I32,
        Of::F32 => ValType::F32,
        Of::F64 => ValType::F64,
        _ => ValType::I64,
    }
}
