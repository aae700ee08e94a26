//! The table of a listing: each column has a head, and a cell for each item.

use serde::Serialize;

use super::{
    CliError, Console,
    pages::{self, ListPage},
    table::{TextCell, TextColumn, TextTable},
};

/// Makes the cell of an item.
type CellOf<'a, I> = Box<dyn Fn(&I) -> TextCell + 'a>;

/// The columns of a table whose rows are items.
pub(super) struct ItemTable<'a, I> {
    columns: Vec<TextColumn>,
    cells: Vec<CellOf<'a, I>>,
    /// Index of the column with the state, for unreadable rows.
    state_at: usize,
}

impl<'a, I> ItemTable<'a, I> {
    pub(super) fn new() -> Self {
        Self { columns: Vec::new(), cells: Vec::new(), state_at: 1 }
    }

    /// Adds a column.
    pub(super) fn column<C: Into<TextCell>>(
        mut self,
        column: TextColumn,
        cell: impl Fn(&I) -> C + 'a,
    ) -> Self {
        self.columns.push(column);
        self.cells.push(Box::new(move |item| cell(item).into()));
        self
    }

    /// Adds a column if `is_shown`.
    pub(super) fn column_if<C: Into<TextCell>>(
        self,
        is_shown: bool,
        column: TextColumn,
        cell: impl Fn(&I) -> C + 'a,
    ) -> Self {
        if is_shown { self.column(column, cell) } else { self }
    }

    /// Shows the state of unreadable rows in this column instead of the second one.
    pub(super) fn state_at(self, state_at: usize) -> Self {
        Self { state_at, ..self }
    }

    /// The table of these items.
    pub(super) fn rows<'i>(&self, items: impl IntoIterator<Item = &'i I>) -> TextTable
    where
        I: 'i,
    {
        let mut table = TextTable::new(&self.columns);
        for item in items {
            table.row(self.cells.iter().map(|cell| cell(item)));
        }
        table
    }

    /// Prints a listing: as JSON, or as a table with remarks about unreadable rows and further
    /// pages, or `none` if there is nothing to list.
    pub(super) fn print<P: ListPage<Item = I> + Serialize>(
        &self,
        none: &str,
        page: &P,
        console: &mut Console,
    ) -> Result<(), CliError> {
        if self.print_rows(none, page, console)? {
            pages::say_unreadable(page.unreadable(), console);
            pages::say_more(page.next(), console);
        }
        Ok(())
    }

    /// Like [`print`](Self::print), without the remarks after the table. Returns true if a table
    /// was printed.
    pub(super) fn print_rows<P: ListPage<Item = I> + Serialize>(
        &self,
        none: &str,
        page: &P,
        console: &mut Console,
    ) -> Result<bool, CliError> {
        if console.json() {
            console.document(page)?;
            return Ok(false);
        }
        pages::say_missing(page.missing(), console);
        if page.items().is_empty() && page.unreadable().is_empty() {
            console.remark(none);
            return Ok(false);
        }
        let mut table = self.rows(page.items());
        pages::show_unreadable(page.unreadable(), self.state_at, &mut table);
        console.table(&table)?;
        Ok(true)
    }
}
