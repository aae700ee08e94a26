//! The layout of a table: columns, key, and handling of key conflicts.

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    Int,
    Text,
    Blob,
}

/// Handling of an inserted row whose key exists already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConflictRule {
    /// Refused by the key: such rows are only inserted, once.
    Refused,
    /// The existing row stays: such rows are only inserted, possibly repeatedly.
    Stays,
    /// The new row replaces the existing one.
    Replaces,
    /// The new row replaces the existing one if this column is larger in the new row.
    ReplacesSmaller(&'static str),
    /// The new row replaces the existing one if these columns, compared in order, are larger in the
    /// new row.
    ReplacesEarlier([&'static str; 2]),
}

/// Description of a table.
#[derive(Debug)]
pub(crate) struct SqlTable {
    pub(crate) name: &'static str,
    /// The columns, separated by commas, starting with the key columns.
    pub(crate) columns: &'static str,
    /// The types of the columns.
    pub(crate) kinds: &'static [ColumnKind],
    /// Number of key columns.
    pub(crate) key: usize,
    /// Handling of an inserted row whose key exists already.
    pub(crate) again: ConflictRule,
}

impl SqlTable {
    /// The column names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.columns.split(',').map(str::trim)
    }

    /// The name of the first column.
    pub(crate) fn first(&self) -> &'static str {
        self.names().next().unwrap_or_default()
    }

    /// The columns from `first` on, qualified with the table's name, for joins.
    pub(crate) fn of_table(&self, first: usize) -> String {
        let names = self.names().skip(first).map(|column| format!("{}.{column}", self.name));
        names.collect::<Vec<_>>().join(", ")
    }

    /// `INSERT INTO table (columns)`.
    pub(crate) fn insert(&self) -> String {
        format!("INSERT INTO {} ({})", self.name, self.columns)
    }

    /// The names of the key columns.
    pub(crate) fn key_names(&self) -> Vec<&'static str> {
        self.names().take(self.key).collect()
    }

    /// The `ON CONFLICT` clause of an insertion; empty if conflicts are refused.
    pub(crate) fn on_conflict(&self) -> String {
        let key = self.key_names().join(", ");
        let sets =
            self.names().skip(self.key).map(|column| format!("{column} = excluded.{column}"));
        let replaces =
            format!("ON CONFLICT ({key}) DO UPDATE SET {}", sets.collect::<Vec<_>>().join(", "));
        match self.again {
            ConflictRule::Refused => String::new(),
            ConflictRule::Stays => format!("ON CONFLICT ({key}) DO NOTHING"),
            ConflictRule::Replaces => replaces,
            ConflictRule::ReplacesSmaller(column) => {
                format!("{replaces} WHERE {}.{column} < excluded.{column}", self.name)
            }
            ConflictRule::ReplacesEarlier([one, two]) => {
                let table = self.name;
                format!(
                    "{replaces} WHERE ({table}.{one}, {table}.{two}) < (excluded.{one}, excluded.{two})"
                )
            }
        }
    }
}
