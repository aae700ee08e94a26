//! The table at the start of a bundle, from its lines to those of the author's sources.
//!
//! ```text
//! globalThis.segnoLines = {"sources":["src/index.ts"],"packed":"0,0,12 30,0,13\n\n4,0,20"};
//! ```
//!
//! Each line of `packed` is one of the bundle, and has `COLUMN,SOURCE,LINE` for each column from which
//! on another line of the sources begins.

use serde::Deserialize;

/// The statement with the table.
const LEAD: &[u8] = b"globalThis.segnoLines = ";

/// The sources of a bundle, and the places in them.
#[derive(Deserialize)]
pub(crate) struct SourceLines {
    sources: Vec<String>,
    #[serde(default)]
    packed: String,
    #[serde(default)]
    lines: Vec<Vec<LineEntry>>,
}

/// Column of the bundle, number of the source, line in it.
type LineEntry = (u32, u32, u32);

impl SourceLines {
    /// The table of a bundle. `None` if the file does not begin with one.
    pub(crate) fn of(bundle: &[u8]) -> Option<Self> {
        let table = bundle.strip_prefix(LEAD)?;
        serde_json::Deserializer::from_slice(table).into_iter().next()?.ok()
    }

    /// File and line of the sources at this line and column of the bundle, both from 1.
    pub(super) fn source(&self, line: u32, column: u32) -> Option<(&str, u32)> {
        let number = line.checked_sub(1)? as usize;
        let entries: Vec<LineEntry> = match self.lines.get(number) {
            Some(entries) => entries.clone(),
            None => self.packed.lines().nth(number)?.split(' ').filter_map(entry).collect(),
        };
        let (_, source, line) = *entries.iter().rev().find(|(from, ..)| *from < column)?;
        Some((self.sources.get(source as usize)?, line))
    }
}

fn entry(text: &str) -> Option<LineEntry> {
    let mut numbers = text.split(',').map(str::parse);
    let mut next = || numbers.next()?.ok();
    Some((next()?, next()?, next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_bundle_leads_to_one_of_the_sources() {
        let bundle = br#"globalThis.segnoLines = {"sources":["a.ts","b c.ts"],"packed":"\n0,0,12 30,1,13\n"}; code("}")"#;
        let lines = SourceLines::of(bundle).expect("it has a table");
        for (line, column, source) in [
            (2, 1, Some(("a.ts", 12))),
            (2, 30, Some(("a.ts", 12))),
            (2, 31, Some(("b c.ts", 13))),
            (1, 1, None),
            (0, 1, None),
            (4, 1, None),
        ] {
            assert_eq!(lines.source(line, column), source, "{line}:{column}");
        }
        let of_shim = br#"globalThis.segnoLines = {"sources":["a.js"],"lines":[[],[[0,0,7]]]};"#;
        let of_shim = SourceLines::of(of_shim).expect("it has a table");
        assert_eq!(of_shim.source(2, 3), Some(("a.js", 7)));
        assert!(SourceLines::of(b"import app").is_none());
    }
}
