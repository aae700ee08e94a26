//! What a table looks like: its columns, its key, and rows that come again.

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    /// A number.
    Int,
    /// A text.
    Text,
    /// Bytes.
    Blob,
}

/// What happens to a row whose key is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Again {
    /// It is refused: such rows are only ever added.
    Refused,
    /// The one that is there stays: such rows are only ever added, and may come again.
    Stays,
    /// It replaces the one that is there.
    Replaces,
    /// It replaces the one that is there if this column of it is larger.
    ReplacesSmaller(&'static str),
    /// It replaces the one that is there if these columns of it, compared in this order, are larger.
    ReplacesEarlier([&'static str; 2]),
}

/// A table.
#[derive(Debug)]
pub(crate) struct Table {
    /// Its name.
    pub(crate) name: &'static str,
    /// Its columns, those of the key first, with commas between.
    pub(crate) columns: &'static str,
    /// What they hold.
    pub(crate) kinds: &'static [ColumnKind],
    /// How many of them are the key.
    pub(crate) key: usize,
    /// What happens to a row whose key is there already.
    pub(crate) again: Again,
}

impl Table {
    /// The names of its columns.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.columns.split(',').map(str::trim)
    }

    /// The name of its first column.
    pub(crate) fn first(&self) -> &'static str {
        self.names().next().unwrap_or_default()
    }

    /// Its columns from `first` on, each as a column of this table, for statements with others.
    pub(crate) fn of_table(&self, first: usize) -> String {
        let names = self.names().skip(first).map(|column| format!("{}.{column}", self.name));
        names.collect::<Vec<_>>().join(", ")
    }

    /// `INSERT INTO table (columns)`.
    pub(crate) fn insert(&self) -> String {
        format!("INSERT INTO {} ({})", self.name, self.columns)
    }

    /// The names of the columns of its key.
    pub(crate) fn key_names(&self) -> Vec<&'static str> {
        self.names().take(self.key).collect()
    }

    /// What follows the rows of an insertion.
    pub(crate) fn on_conflict(&self) -> String {
        let key = self.key_names().join(", ");
        let sets =
            self.names().skip(self.key).map(|column| format!("{column} = excluded.{column}"));
        let replaces =
            format!("ON CONFLICT ({key}) DO UPDATE SET {}", sets.collect::<Vec<_>>().join(", "));
        match self.again {
            Again::Refused => String::new(),
            Again::Stays => format!("ON CONFLICT ({key}) DO NOTHING"),
            Again::Replaces => replaces,
            Again::ReplacesSmaller(column) => {
                format!("{replaces} WHERE {}.{column} < excluded.{column}", self.name)
            }
            Again::ReplacesEarlier([one, two]) => {
                let table = self.name;
                format!(
                    "{replaces} WHERE ({table}.{one}, {table}.{two}) < (excluded.{one}, excluded.{two})"
                )
            }
        }
    }
}
