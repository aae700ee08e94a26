//! Tables in Markdown.

use std::fmt::Write as _;

/// A table, followed by an empty line. Empty if there are no rows.
pub(super) fn table<const COLUMNS: usize>(
    heads: [&str; COLUMNS],
    rows: &[[String; COLUMNS]],
) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut table = format!("| {} |\n|{}\n", heads.join(" | "), "---|".repeat(COLUMNS));
    for row in rows {
        let cells = row.each_ref().map(|cell| in_cell(cell));
        let _ = writeln!(table, "| {} |", cells.join(" | "));
    }
    table + "\n"
}

/// The text on one line, with escaped cell separators.
fn in_cell(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace('|', "\\|")
}
