//! The table of every list, fitted to the width of a terminal: less important columns are left out,
//! then long texts are cut. Without a width everything is shown whole.

use comfy_table::{Attribute, CellAlignment, ColumnConstraint, Width, presets};

use super::text;

/// Gap between two columns of the table.
const GAP: usize = 2;
/// Minimum width of a cut text on a narrow terminal, in columns.
const NARROWEST: usize = 6;

/// A table.
pub struct TextTable {
    columns: Vec<TextColumn>,
    rows: Vec<Vec<TextCell>>,
}

/// A column of a table.
#[derive(Clone, Copy)]
pub struct TextColumn {
    head: &'static str,
    /// The way of shortening its texts, and the minimum width before other columns are left out.
    narrows: Option<(TruncationMode, usize)>,
    is_right: bool,
    /// 0: the column is always shown; the largest rank is left out first.
    rank: u8,
}

/// The way of shortening the texts of a column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TruncationMode {
    End,
    Middle,
    Wrap,
}

impl TextColumn {
    /// A column whose texts are never cut.
    pub const fn whole(head: &'static str) -> Self {
        Self { head, narrows: None, is_right: false, rank: 0 }
    }

    /// A column of numbers or lengths, never cut.
    pub const fn number(head: &'static str) -> Self {
        Self { is_right: true, ..Self::whole(head) }
    }

    /// A column of ids, cut in the middle.
    pub const fn id(head: &'static str) -> Self {
        Self { narrows: Some((TruncationMode::Middle, 21)), ..Self::whole(head) }
    }

    /// A column of texts, cut at the end.
    pub const fn text(head: &'static str) -> Self {
        Self { narrows: Some((TruncationMode::End, 14)), ..Self::whole(head) }
    }

    /// A column of sentences, broken into lines.
    pub const fn prose(head: &'static str) -> Self {
        Self { narrows: Some((TruncationMode::Wrap, 20)), ..Self::whole(head) }
    }

    /// Sets the rank: the column is left out if the width does not suffice, before all of a smaller
    /// rank.
    pub const fn rank(self, rank: u8) -> Self {
        Self { rank, ..self }
    }
}

/// A cell of a table.
pub struct TextCell {
    text: String,
    color: Option<comfy_table::Color>,
}

impl TextCell {
    /// A cell with this text, in this colour if colours are enabled.
    pub fn colored(text: impl Into<String>, color: Option<comfy_table::Color>) -> Self {
        Self { text: text::tame(&text.into(), false), color }
    }
}

impl<T: ToString> From<T> for TextCell {
    fn from(text: T) -> Self {
        Self { text: text::tame(&text.to_string(), false), color: None }
    }
}

impl TextTable {
    /// An empty table.
    pub fn new(columns: &[TextColumn]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Returns true if the table has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds a row; trailing columns may be missing.
    pub fn row(&mut self, cells: impl IntoIterator<Item = TextCell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The lines of the table, at most `columns` wide unless even the narrowest texts do not fit.
    pub fn lines(&self, columns: Option<usize>, is_styled: bool) -> Vec<String> {
        let widths = self.widths(columns.unwrap_or(usize::MAX));
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING);
        let shown = |at: &usize| widths[*at].is_some();
        let places: Vec<usize> = (0..self.columns.len()).filter(shown).collect();
        if self.columns.iter().any(|column| !column.head.is_empty()) {
            let head = |&at: &usize| {
                let column = &self.columns[at];
                let head = comfy_table::Cell::new(column.head).add_attribute(Attribute::Bold);
                if column.is_right { head.set_alignment(CellAlignment::Right) } else { head }
            };
            table.set_header(places.iter().map(head));
        }
        for row in &self.rows {
            let cell = |&at: &usize| {
                let Some(cell) = row.get(at) else { return comfy_table::Cell::new("") };
                cell.shown(&self.columns[at], widths[at].unwrap_or_default())
            };
            table.add_row(places.iter().map(cell));
        }
        for (column, &at) in table.column_iter_mut().zip(&places) {
            column.set_padding((0, GAP as u16));
            if let (Some((TruncationMode::Wrap, _)), Some(width)) =
                (self.columns[at].narrows, widths[at])
            {
                let width = u16::try_from(width + GAP).unwrap_or(u16::MAX);
                column.set_constraint(ColumnConstraint::UpperBoundary(Width::Fixed(width)));
            }
        }
        if is_styled {
            table.enforce_styling();
        } else {
            table.force_no_tty();
        }
        table.to_string().lines().map(|line| line.trim_end().to_owned()).collect()
    }

    /// The width of each column. `None` for columns that are left out.
    fn widths(&self, available: usize) -> Vec<Option<usize>> {
        let natural: Vec<usize> = (0..self.columns.len()).map(|at| self.natural(at)).collect();
        let least = |at: usize| match self.columns[at].narrows {
            Some((_, least)) => natural[at].min(least.max(text::width(self.columns[at].head))),
            None => natural[at],
        };
        let mut shown: Vec<usize> = (0..self.columns.len()).collect();
        let needed = |widths: &mut dyn Iterator<Item = usize>| {
            widths.map(|width| width + GAP).sum::<usize>().saturating_sub(GAP)
        };
        while needed(&mut shown.iter().map(|&at| least(at))) > available {
            let dropped = |at: &usize| (self.columns[*at].rank, *at);
            let Some(at) = shown.iter().copied().max_by_key(dropped) else { break };
            if self.columns[at].rank == 0 {
                break;
            }
            shown.retain(|other| *other != at);
        }
        let mut widths: Vec<Option<usize>> = vec![None; self.columns.len()];
        for &at in &shown {
            widths[at] = Some(natural[at]);
        }
        let mut excess = needed(&mut shown.iter().map(|&at| natural[at])).saturating_sub(available);
        // The widest text is shortened first: down to its preferred minimum, and further if
        // necessary.
        let cuttable = shown.iter().copied().filter(|&at| self.columns[at].narrows.is_some());
        let cuttable: Vec<usize> = cuttable.collect();
        for limit in [&least as &dyn Fn(usize) -> usize, &|at| natural[at].min(NARROWEST)] {
            while excess > 0 {
                let room = |at: &usize| widths[*at].is_some_and(|width| width > limit(*at));
                let widest = cuttable.iter().copied().filter(room).max_by_key(|&at| widths[at]);
                let Some(width) = widest.and_then(|at| widths[at].as_mut()) else { break };
                *width -= 1;
                excess -= 1;
            }
        }
        widths
    }

    fn natural(&self, at: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(at));
        let cells = cells.map(|cell| cell.text.lines().map(text::width).max().unwrap_or_default());
        cells.chain([text::width(self.columns[at].head)]).max().unwrap_or_default()
    }
}

impl TextCell {
    fn shown(&self, column: &TextColumn, width: usize) -> comfy_table::Cell {
        let text = match column.narrows {
            Some((TruncationMode::End, _)) => text::cut(&self.text, width),
            Some((TruncationMode::Middle, _)) => text::cut_middle(&self.text, width),
            Some((TruncationMode::Wrap, _)) | None => self.text.clone(),
        };
        let mut cell = comfy_table::Cell::new(text);
        if let Some(color) = self.color {
            cell = cell.fg(color);
        }
        if column.is_right { cell.set_alignment(CellAlignment::Right) } else { cell }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> TextTable {
        let mut table = TextTable::new(&[
            TextColumn::id("ID"),
            TextColumn::text("FUNCTION"),
            TextColumn::whole("STATE"),
            TextColumn::number("TOOK").rank(1),
            TextColumn::number("RECORDS").rank(3),
            TextColumn::number("RETRIES").rank(2),
        ]);
        table.row([
            TextCell::from("nightly-report-of-all-customers@1794711600000/12/renewal"),
            TextCell::from("subscriptions/send_invoice_and_reminders"),
            TextCell::from("suspended"),
            TextCell::from("3 m 20 s"),
            TextCell::from(1234),
            TextCell::from(0),
        ]);
        table.row([TextCell::from("ada"), TextCell::from("shop/ship"), TextCell::from("resolved")]);
        table
    }

    #[test]
    fn what_matters_less_gives_way_to_the_width() {
        for (columns, heads, id) in [
            (
                None,
                &["ID", "FUNCTION", "STATE", "TOOK", "RECORDS", "RETRIES"][..],
                "nightly-report-of-all-customers@1794711600000/12/renewal",
            ),
            (
                Some(120),
                &["ID", "FUNCTION", "STATE", "TOOK", "RECORDS", "RETRIES"],
                "nightly-report-of-al…11600000/12/renewal",
            ),
            (
                Some(80),
                &["ID", "FUNCTION", "STATE", "TOOK", "RECORDS", "RETRIES"],
                "nightly-re…12/renewal",
            ),
            (Some(60), &["ID", "FUNCTION", "STATE", "TOOK"], "nightly-re…12/renewal"),
            (Some(50), &["ID", "FUNCTION", "STATE"], "nightly-re…12/renewal"),
            (Some(30), &["ID", "FUNCTION", "STATE"], "nigh…ewal"),
        ] {
            let lines = table().lines(columns, false);
            assert_eq!(lines.len(), 3, "no line is broken: {lines:#?}");
            assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>(), heads, "{columns:?}");
            let first = lines[1].split_whitespace().next();
            assert_eq!(first, Some(id), "{columns:?}: {lines:#?}");
            for line in &lines {
                assert!(text::width(line) <= columns.unwrap_or(999), "{columns:?}: {lines:#?}");
            }
        }
    }

    #[test]
    fn sentences_are_broken_between_words() {
        let mut table =
            TextTable::new(&[TextColumn::whole("RULE"), TextColumn::prose("WHAT IS WRONG")]);
        table.row(["a", "a settled promise has an open task and listeners"].map(TextCell::from));
        let lines = table.lines(Some(30), false);
        assert_eq!(
            lines,
            [
                "RULE  WHAT IS WRONG",
                "a     a settled promise has an",
                "      open task and listeners"
            ]
        );
    }
}
