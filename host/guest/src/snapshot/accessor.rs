//! The core module through which the host reads and writes the state of another one: it imports
//! that module's memory and globals, and each of its functions does one operation.
//!
//! One accessor of a component also takes and gives back resource handles, of a type that only it
//! knows: the order in which freed handles are reused is the only trace of those that the component
//! held before.
//!
//! The canonical ABI copies lists from and to the guest's memory, so whole pages cross in one call:
//! `read` returns a list that *is* the memory, and `write` takes a list that this module's
//! allocator places at the offset set by `aim`.

use wasm_encoder::{
    CodeSection, ConstExpr, EntityType, ExportKind, ExportSection, Function, FunctionSection,
    GlobalSection, GlobalType, ImportSection, InstructionSink, MemArg, MemoryType, Module,
    TypeSection, ValType,
};
use wasmparser::ValType as Of;

/// Names of the modules that the accessor imports: the memory, the globals, and the two functions
/// that create and drop a handle.
pub(super) const MEMORY_MODULE: &str = "memory";
pub(super) const GLOBALS_MODULE: &str = "globals";
pub(super) const HANDLES_MODULE: &str = "handles";
pub(super) const NEW_HANDLE: &str = "new";
pub(super) const DROP_HANDLE: &str = "drop";
/// Name of the allocator for `write`.
pub(super) const REALLOC: &str = "realloc";

/// A function of the accessor as the component exports it: parameters and result.
pub(super) struct AccessorExport {
    pub(super) name: &'static str,
    pub(super) params: &'static [(&'static str, AccessorType)],
    pub(super) result: Option<AccessorType>,
}

/// The type of a value that crosses the border.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AccessorType {
    U32,
    U64,
    Bytes,
}

/// Number of bytes at the start of the memory that `read` overwrites while it answers, with the
/// offset and length of the list.
pub(super) const CLOBBERED: usize = 8;

/// Number of functions that every accessor has, in code order.
const OF_ALL: usize = 10;

/// All functions, in code order; the last ones handle resource handles.
const FUNCTIONS: [AccessorExport; OF_ALL + 3] = [
    AccessorExport { name: "pages", params: &[], result: Some(AccessorType::U32) },
    AccessorExport {
        name: "grow",
        params: &[("pages", AccessorType::U32)],
        result: Some(AccessorType::U32),
    },
    AccessorExport {
        name: "peek",
        params: &[("at", AccessorType::U32)],
        result: Some(AccessorType::U64),
    },
    AccessorExport {
        name: "poke",
        params: &[("at", AccessorType::U32), ("value", AccessorType::U64)],
        result: None,
    },
    AccessorExport {
        name: "read",
        params: &[("at", AccessorType::U32), ("len", AccessorType::U32)],
        result: Some(AccessorType::Bytes),
    },
    AccessorExport { name: "aim", params: &[("at", AccessorType::U32)], result: None },
    AccessorExport { name: "write", params: &[("bytes", AccessorType::Bytes)], result: None },
    AccessorExport { name: "globals", params: &[], result: Some(AccessorType::U32) },
    AccessorExport {
        name: "get",
        params: &[("index", AccessorType::U32)],
        result: Some(AccessorType::U64),
    },
    AccessorExport {
        name: "set",
        params: &[("index", AccessorType::U32), ("bits", AccessorType::U64)],
        result: None,
    },
    AccessorExport { name: "take", params: &[], result: Some(AccessorType::U32) },
    AccessorExport { name: "give", params: &[("handle", AccessorType::U32)], result: None },
    AccessorExport {
        name: "fresh",
        params: &[("from", AccessorType::U32), ("most", AccessorType::U32)],
        result: Some(AccessorType::U32),
    },
];

/// Maximum number of accessors of a component: each is named by a letter.
pub(super) const ACCESSORS: usize = 26;

/// The functions of an accessor, with or without those for handles.
pub(super) fn functions(takes_handles: bool) -> &'static [AccessorExport] {
    if takes_handles { &FUNCTIONS } else { &FUNCTIONS[..OF_ALL] }
}

/// The beginning of the names under which the functions of accessors are exported.
pub(crate) const ACCESSOR: &str = "segno-snapshot-";

/// The name under which a component exports a function of one of its accessors.
pub(super) fn export(accessor: usize, function: &str) -> String {
    let letter = (b'a'..=b'z').nth(accessor).map_or('z', char::from);
    format!("{ACCESSOR}{letter}-{function}")
}

/// The name under which a component exports the initializer with this number.
pub(super) fn initializer(number: usize) -> String {
    format!("{ACCESSOR}initializer-n{number}")
}

impl AccessorExport {
    /// The name under which a component exports this function of its accessor with this number.
    pub(super) fn export(&self, accessor: usize) -> String {
        export(accessor, self.name)
    }

    /// Parameter and result types of the core function.
    fn core(&self) -> (Vec<ValType>, Vec<ValType>) {
        let flat = |kind: AccessorType| match kind {
            AccessorType::U32 => vec![ValType::I32],
            AccessorType::U64 => vec![ValType::I64],
            AccessorType::Bytes => vec![ValType::I32, ValType::I32],
        };
        let params = self.params.iter().flat_map(|(_, kind)| flat(*kind)).collect();
        // A list is returned as the address of its offset and length.
        let result = self.result.map(|kind| match kind {
            AccessorType::U64 => ValType::I64,
            AccessorType::U32 | AccessorType::Bytes => ValType::I32,
        });
        (params, result.into_iter().collect())
    }
}

/// Builds the accessor module for a memory and globals of these types.
pub(super) fn module(globals: &[Of], takes_handles: bool) -> Module {
    let (mut types, mut imports, mut defined) =
        (TypeSection::new(), ImportSection::new(), FunctionSection::new());
    let own_functions = functions(takes_handles);
    // Each function's type has the function's index; the allocator's type follows.
    let realloc = own_functions.len() as u32;
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
    // Index of the global with the target offset of the next `write`.
    let aim = globals.len() as u32;
    let mut own = GlobalSection::new();
    let place = GlobalType { val_type: ValType::I32, mutable: true, shared: false };
    own.global(place, &ConstExpr::i32_const(0));

    let mut imported = 0;
    if takes_handles {
        for (n, name) in [(1, NEW_HANDLE), (2, DROP_HANDLE)] {
            imports.import(HANDLES_MODULE, name, EntityType::Function(realloc + n));
            imported += 1;
        }
    }
    let (mut exports, mut code) = (ExportSection::new(), CodeSection::new());
    for (n, function) in (0_u32..).zip(own_functions) {
        let (params, results) = function.core();
        types.ty().function(params, results);
        defined.function(n);
        exports.export(function.name, ExportKind::Func, imported + n);
        // Two locals for `fresh`: a counter and the current handle.
        let mut body = Function::new([(2, ValType::I32)]);
        instructions(function.name, globals, aim, &mut body.instructions());
        code.function(&body);
    }
    types.ty().function([ValType::I32; 4], [ValType::I32]);
    types.ty().function([ValType::I32], [ValType::I32]);
    types.ty().function([ValType::I32], []);
    defined.function(realloc);
    exports.export(REALLOC, ExportKind::Func, imported + realloc);
    let mut body = Function::new([]);
    body.instructions().global_get(aim).end();
    code.function(&body);

    let mut module = Module::new();
    module
        .section(&types)
        .section(&imports)
        .section(&defined)
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
        "take" => code.i32_const(0).call(NEW),
        "give" => code.local_get(0).call(DROP),
        "fresh" => fresh(code),
        // `write`: the allocator has already placed the bytes.
        _ => code,
    };
    code.end();
}

/// Indices of the imported functions that create and drop a handle.
const NEW: u32 = 0;
const DROP: u32 = 1;

/// Takes up to `MOST` handles while they are consecutive from `FROM`, and gives all of them back,
/// the last one first, so that the reuse order is unchanged. Returns the number of consecutive
/// handles.
fn fresh<'a, 'b>(code: &'a mut InstructionSink<'b>) -> &'a mut InstructionSink<'b> {
    const FROM: u32 = 0;
    const MOST: u32 = 1;
    const TAKEN: u32 = 2;
    const HANDLE: u32 = 3;
    const NOTHING: wasm_encoder::BlockType = wasm_encoder::BlockType::Empty;
    code.block(NOTHING).loop_(NOTHING);
    code.local_get(TAKEN).local_get(MOST).i32_ge_u().br_if(1);
    code.i32_const(0).call(NEW).local_tee(HANDLE);
    code.local_get(FROM).local_get(TAKEN).i32_add().i32_ne();
    code.if_(NOTHING).local_get(HANDLE).call(DROP).br(2).end();
    code.local_get(TAKEN).i32_const(1).i32_add().local_set(TAKEN);
    code.br(0).end().end();

    code.local_get(TAKEN).local_set(HANDLE);
    code.block(NOTHING).loop_(NOTHING);
    code.local_get(HANDLE).i32_eqz().br_if(1);
    code.local_get(HANDLE).i32_const(1).i32_sub().local_set(HANDLE);
    code.local_get(FROM).local_get(HANDLE).i32_add().call(DROP);
    code.br(0).end().end();
    code.local_get(TAKEN)
}

/// Begins a block that runs if the first parameter is `n`.
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
