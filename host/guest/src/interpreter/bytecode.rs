//! A function of QuickJS: its instructions, and their places in the bundle.
//!
//! ```text
//! offset   field of JSFunctionBytecode        offset   field
//!     12   byte_code_buf                          72   pc2line_len
//!     16   byte_code_len                          76   pc2line_buf
//!     60   line_num, col_num
//! ```

use super::memory::Words;

const CODE: usize = 12;
const CODE_LEN: usize = 16;
const FIRST_LINE: usize = 60;
const FIRST_COLUMN: usize = 64;
const PLACES_LEN: usize = 72;
const PLACES: usize = 76;
/// Jumps, with the size of their operand in bytes: `if_false`, `if_true`, `goto`, and their forms
/// for 8 and 16 bits. An operand is the distance from itself.
const JUMPS: [(u8, usize); 7] =
    [(104, 4), (105, 4), (106, 4), (240, 1), (241, 1), (242, 1), (243, 2)];
/// Number of lines that an entry of the table in one byte can differ by, and the smallest of them.
const LINES: u8 = 5;
const LEAST_LINE: i64 = -1;

/// Line and column, from 1.
pub(super) type BundlePlace = (u32, u32);

/// The place of the loop that is interrupted, in the function at this address. `told` is the place
/// in its stack: a loop is interrupted after the jump to its start, and the stack has the place of
/// the instruction before that. `None` if that is not the start of a loop.
pub(super) fn interrupted_loop(
    memory: &[u8],
    function: usize,
    told: BundlePlace,
) -> Option<BundlePlace> {
    let field = |offset: usize| memory.u32_at(function + offset).map(|word| word as usize);
    let code = memory.slice_at(field(CODE)?, field(CODE_LEN)?)?;
    let table = memory.slice_at(field(PLACES)?, field(PLACES_LEN)?)?;
    let first = (field(FIRST_LINE)? as i64, field(FIRST_COLUMN)? as i64);
    let places = places(table, first)?;
    let mut pairs = places.iter().zip(places.iter().skip(1));
    let is_told = |(line, column)| (i64::from(told.0), i64::from(told.1)) == (line, column);
    let (_, (_, place)) = pairs.find(|((start, place), (end, _))| {
        is_told(*place) && is_start_of_loop(code, start + 1..=*end)
    })?;
    Some((place.0.try_into().ok()?, place.1.try_into().ok()?))
}

/// True if a later instruction jumps into this range.
fn is_start_of_loop(code: &[u8], range: std::ops::RangeInclusive<usize>) -> bool {
    let jumps = code.iter().enumerate().filter_map(|(at, instruction)| {
        let (_, size) = JUMPS.iter().find(|(jump, _)| jump == instruction)?;
        let operand = code.slice_at(at + 1, *size)?;
        let distance = match operand {
            [byte] => i64::from(byte.cast_signed()),
            [low, high] => i64::from(i16::from_le_bytes([*low, *high])),
            word => i64::from(i32::from_le_bytes(*word.first_chunk()?)),
        };
        let target = usize::try_from(at as i64 + 1 + distance).ok()?;
        (target < at).then_some(target)
    });
    jumps.into_iter().any(|target| range.contains(&target))
}

/// Offsets of instructions, with the places from there on.
fn places(table: &[u8], first: (i64, i64)) -> Option<Vec<(usize, (i64, i64))>> {
    let mut places = vec![(0, first)];
    let (mut offset, (mut line, mut column)) = (0, first);
    let mut rest = table;
    while let Some((head, after)) = rest.split_first() {
        rest = after;
        match head.checked_sub(1) {
            Some(packed) => {
                offset += usize::from(packed / LINES);
                line += i64::from(packed % LINES) + LEAST_LINE;
            }
            None => {
                offset += usize::try_from(unsigned(&mut rest)?).ok()?;
                line += signed(&mut rest)?;
            }
        }
        column += signed(&mut rest)?;
        places.push((offset, (line, column)));
    }
    Some(places)
}

/// A number in units of 7 bits.
fn unsigned(bytes: &mut &[u8]) -> Option<u32> {
    let mut value = 0;
    for shift in [0, 7, 14, 21, 28] {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u32::from(byte & 127) << shift;
        if byte >> 7 == 0 {
            return Some(value);
        }
    }
    None
}

/// A number whose lowest bit is its sign.
fn signed(bytes: &mut &[u8]) -> Option<i64> {
    let value = unsigned(bytes)?;
    Some(i64::from((value >> 1).cast_signed() ^ -((value & 1).cast_signed())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_is_named_by_its_first_place_and_a_call_by_its_own() {
        let (function, code_at, table_at) = (64, 256, 512);
        let mut memory = vec![0; 1 << 10];
        // At 4, 6 and 10 begin lines 3, 4 and 5. The last instruction jumps to 5.
        let mut code = [14; 12];
        code[10..].copy_from_slice(&[242, (5_i8 - 11).cast_unsigned()]);
        let table = [1 + 4 * 5 + 2, 4, 1 + 2 * 5 + 2, 2, 0, 4, 2, 1];
        for (offset, word) in [
            (CODE, code_at),
            (CODE_LEN, code.len()),
            (FIRST_LINE, 2),
            (FIRST_COLUMN, 1),
            (PLACES_LEN, table.len()),
            (PLACES, table_at),
        ] {
            memory[function + offset..][..4].copy_from_slice(&(word as u32).to_le_bytes());
        }
        memory[code_at..][..code.len()].copy_from_slice(&code);
        memory[table_at..][..table.len()].copy_from_slice(&table);
        let found = |told| interrupted_loop(&memory, function, told);
        assert_eq!(found((3, 3)), Some((4, 4)));
        for told in [(2, 1), (4, 4), (5, 3), (9, 9)] {
            assert_eq!(found(told), None, "{told:?}");
        }
        assert_eq!(interrupted_loop(&memory, 1 << 20, (3, 3)), None);
    }
}
