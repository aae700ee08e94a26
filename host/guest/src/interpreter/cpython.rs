//! The frames of CPython 3.14. Its `_PyRuntime` begins with a table of the offsets that a debugger
//! needs (PEP 768), so no offset in its objects is written here, except in the table itself:
//!
//! ```text
//! offset   field of _Py_DebugOffsets
//!      0   "xdebugpy"
//!      8   version: u64, 0x030e…… for 3.14
//!     24   sizes and offsets: u64 each, struct after struct
//! ```

use super::memory::Words;
use crate::{
    BacktraceFrame,
    backtrace::{FRAMES, NAME_BYTES},
    text::cut,
};

const COOKIE: &[u8; 8] = b"xdebugpy";
/// The versions whose table has this layout, without the last 16 bits.
const VERSION: u64 = 0x030e;
/// Alignment of `_PyRuntime`, in bytes.
const ALIGNMENT: usize = 8;
/// Maximum number of frames that are followed.
const FOLLOWED: usize = 1_000;
/// Number of an offset in the table, counted in units of 8 bytes from its start.
const INTERPRETERS: usize = 5;
const THREADS: usize = 9;
const CURRENT_FRAME: usize = 26;
const PREVIOUS: usize = 32;
const EXECUTABLE: usize = 33;
const INSTRUCTION: usize = 34;
const FILE_NAME: usize = 40;
const QUALIFIED_NAME: usize = 42;
const LINE_TABLE: usize = 43;
const FIRST_LINE: usize = 44;
const INSTRUCTIONS: usize = 48;
const TYPE: usize = 51;
const TYPE_NAME: usize = 53;
const BYTES_LEN: usize = 75;
const BYTES: usize = 76;
const TEXT_STATE: usize = 78;
const TEXT_LEN: usize = 79;
const TEXT: usize = 80;
/// Bytes of a text that is not ASCII in front of its characters, in addition to those of one that
/// is: its form in UTF-8, with the length.
const OTHER_FORM: usize = 8;
/// Bits of an address that say how a frame holds an object.
const TAGS: usize = 3;
/// Folder of the author's sources, and the start of the names of files there that are not theirs.
const SOURCES: &str = "/0/";
const SHIM: [&str; 2] = ["segno_", "segno.py"];

/// The runtime in a memory.
struct PythonRuntime<'a> {
    memory: &'a [u8],
    /// Address of `_PyRuntime`.
    start: usize,
}

/// The frames of the author's code. Empty if there is none, or this is no CPython 3.14.
pub(super) fn frames(memory: &[u8]) -> Vec<BacktraceFrame> {
    let Some(runtime) = PythonRuntime::find(memory) else { return Vec::new() };
    let mut next = runtime.current_frame();
    let mut frames = Vec::new();
    for _ in 0..FOLLOWED {
        let Some(frame) = next else { break };
        frames.extend(runtime.own(frame));
        if frames.len() == FRAMES {
            break;
        }
        next = runtime.field(frame, PREVIOUS);
    }
    frames
}

impl<'a> PythonRuntime<'a> {
    fn find(memory: &'a [u8]) -> Option<Self> {
        let mut places = (0..memory.len()).step_by(ALIGNMENT);
        let is_cookie = |at: &usize| memory.slice_at(*at, COOKIE.len()) == Some(COOKIE);
        let runtimes = places.by_ref().filter(is_cookie).map(|start| Self { memory, start });
        runtimes
            .into_iter()
            .find(|runtime| runtime.number(1).is_some_and(|it| it as u64 >> 16 == VERSION))
    }

    /// A number of the table.
    fn number(&self, number: usize) -> Option<usize> {
        usize::try_from(self.memory.u64_at(self.start + number * size_of::<u64>())?).ok()
    }

    /// The address of a field of an object.
    fn place(&self, object: usize, field: usize) -> Option<usize> {
        object.checked_add(self.number(field)?)
    }

    /// The address in a field of an object. `None` if it is null.
    fn field(&self, object: usize, field: usize) -> Option<usize> {
        self.memory.pointer_at(self.place(object, field)?)
    }

    fn current_frame(&self) -> Option<usize> {
        let interpreter = self.field(self.start, INTERPRETERS)?;
        // There is one thread.
        let thread = self.field(interpreter, THREADS)?;
        self.field(thread, CURRENT_FRAME)
    }

    /// A frame of the author's code.
    fn own(&self, frame: usize) -> Option<BacktraceFrame> {
        let code = self.field(frame, EXECUTABLE)? & !TAGS;
        let kind = self.field(self.field(code, TYPE)?, TYPE_NAME)?;
        if self.memory.slice_at(kind, 5)? != b"code\0" {
            return None;
        }
        let file = self.text(self.field(code, FILE_NAME)?)?;
        let file = file
            .strip_prefix(SOURCES)
            .filter(|file| !SHIM.iter().any(|shim| file.starts_with(shim)))?;
        Some(BacktraceFrame {
            function: self.text(self.field(code, QUALIFIED_NAME)?)?,
            file: Some(file.to_owned()),
            line: self.line(frame, code),
            column: None,
        })
    }

    /// The line of the instruction at which a frame is.
    fn line(&self, frame: usize, code: usize) -> Option<u32> {
        let instruction = self.field(frame, INSTRUCTION)?;
        let offset = instruction.checked_sub(self.place(code, INSTRUCTIONS)?)?;
        let first = self.memory.u32_at(self.place(code, FIRST_LINE)?)?;
        let table = self.field(code, LINE_TABLE)?;
        let len = self.memory.u32_at(self.place(table, BYTES_LEN)?)?;
        let table = self.memory.slice_at(self.place(table, BYTES)?, len as usize)?;
        line_of(table, first, offset)
    }

    fn text(&self, text: usize) -> Option<String> {
        let state = self.memory.u8_at(self.place(text, TEXT_STATE)?)?;
        let (unit, is_compact, is_ascii) =
            (state >> 2 & 7, state >> 5 & 1 == 1, state >> 6 & 1 == 1);
        let len = self.memory.u32_at(self.place(text, TEXT_LEN)?)? as usize;
        let start = self.place(text, TEXT)? + if is_ascii { 0 } else { OTHER_FORM };
        let bytes = self.memory.slice_at(start, len.checked_mul(unit.into())?)?;
        let characters: String = match unit {
            1 => bytes.iter().copied().map(char::from).collect(),
            2 => bytes
                .as_chunks()
                .0
                .iter()
                .map(|unit| character(u16::from_le_bytes(*unit).into()))
                .collect(),
            4 => bytes
                .as_chunks()
                .0
                .iter()
                .map(|unit| character(u32::from_le_bytes(*unit)))
                .collect(),
            _ => return None,
        };
        is_compact.then(|| cut(characters, NAME_BYTES))
    }
}

fn character(code: u32) -> char {
    char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// The line of the instruction at this offset, in bytes. `None` if it has none.
///
/// An entry of the table begins with a byte whose highest bit is set. It has a form and the number
/// of instructions less one. Lines are relative to the entry before it.
fn line_of(table: &[u8], first: u32, offset: usize) -> Option<u32> {
    let mut line = i64::from(first);
    let mut end = 0;
    let mut rest = table;
    while let Some((head, after)) = rest.split_first() {
        let form = head >> 3 & 15;
        line += match form {
            13 | 14 => signed(after),
            // On the line after the last one, up to two lines below.
            10..=12 => i64::from(form) - 10,
            _ => 0,
        };
        end += (usize::from(head & 7) + 1) * size_of::<u16>();
        if offset < end {
            return u32::try_from(line).ok().filter(|_| form != 15);
        }
        let next = after.iter().position(|byte| byte >> 7 == 1).unwrap_or(after.len());
        rest = &after[next..];
    }
    None
}

/// A signed number, in units of 6 bits, the lowest of which is the sign.
fn signed(bytes: &[u8]) -> i64 {
    let mut value = 0;
    for (n, byte) in bytes.iter().take(8).enumerate() {
        value |= i64::from(byte & 63) << (6 * n);
        if byte & 64 == 0 {
            break;
        }
    }
    if value & 1 == 1 { -(value >> 1) } else { value >> 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_leads_to_its_line() {
        // The table that Python 3.11, which has the same format, compiles for this function at line 1:
        //
        //     def total(prices):
        //         count = 0
        //
        //         for price in prices:
        //             if price > 3:
        //                 count += (
        //                     price
        //                 )
        //             while count:
        //                 pass
        //         return count
        let table = [
            128, 0, 216, 12, 13, 128, 69, 224, 17, 23, 240, 0, 6, 5, 17, 240, 0, 6, 5, 17, 136, 5,
            216, 11, 16, 144, 49, 138, 57, 136, 57, 216, 12, 17, 216, 16, 21, 241, 3, 2, 13, 14,
            136, 69, 240, 6, 0, 15, 20, 240, 0, 1, 9, 17, 216, 12, 16, 240, 3, 0, 15, 20, 240, 0,
            1, 9, 17, 248, 224, 11, 16, 128, 76,
        ];
        for (offset, line) in [
            (0, Some(1)),
            (2, Some(2)),
            (12, Some(4)),
            (14, Some(5)),
            (26, Some(6)),
            (28, Some(7)),
            (30, Some(6)),
            (36, Some(9)),
            (40, Some(10)),
            (44, Some(9)),
            (46, None),
            (48, Some(11)),
            (50, Some(11)),
            (52, None),
        ] {
            assert_eq!(line_of(&table, 1, offset), line, "at {offset}");
        }
    }

    #[test]
    fn memory_of_something_else_has_no_frames() {
        for version in [0_u64, 0x030d_00f0, 0x030e_00f0] {
            let mut memory = vec![0xff; 4 << 10];
            memory[64..72].copy_from_slice(COOKIE);
            memory[72..80].copy_from_slice(&version.to_le_bytes());
            assert_eq!(frames(&memory), [], "{version:x}");
        }
    }
}
