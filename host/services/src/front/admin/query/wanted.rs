//! The rows and columns of a table that a query needs.

use std::collections::{BTreeMap, BTreeSet};

use segno_core::{
    address::{object_of_service, scoped, service_alias},
    id::ObjectId,
};

/// The rows of a table that a query can use, and the columns that it reads. The database checks all
/// conditions again, so additional rows are harmless.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WantedRows {
    /// Names of the columns to read.
    columns: BTreeSet<&'static str>,
    /// Permitted texts, by column.
    only: BTreeMap<&'static str, BTreeSet<String>>,
    /// Excluded texts, by column.
    never: BTreeMap<&'static str, BTreeSet<String>>,
}

impl WantedRows {
    /// Selects all rows, with these columns.
    pub(super) fn of(columns: impl Iterator<Item = &'static str>) -> Self {
        Self { columns: columns.collect(), ..Self::default() }
    }

    /// Restricts a column to these texts.
    pub(super) fn only(&mut self, column: &'static str, texts: BTreeSet<String>) {
        let both = match self.only.get(column) {
            Some(known) => known & &texts,
            None => texts,
        };
        self.only.insert(column, both);
    }

    /// Excludes a text of a column.
    pub(super) fn never(&mut self, column: &'static str, text: String) {
        self.never.entry(column).or_default().insert(text);
    }

    /// Returns true if the query reads a column.
    pub(super) fn needs(&self, column: &str) -> bool {
        self.columns.contains(column)
    }

    /// Returns the permitted texts of a column; `None` if any.
    pub(super) fn texts(&self, column: &str) -> Option<&BTreeSet<String>> {
        self.only.get(column)
    }

    /// Returns true if a column may have this text.
    pub(super) fn may_be(&self, column: &str, text: &str) -> bool {
        self.texts(column).is_none_or(|texts| texts.contains(text))
            && self.never.get(column).is_none_or(|texts| !texts.contains(text))
    }

    /// Returns the single permitted text of a column; `None` if there are several, or any is
    /// permitted.
    pub(super) fn text(&self, column: &str) -> Option<&str> {
        let texts = self.texts(column)?;
        texts.first().filter(|_| texts.len() == 1).map(String::as_str)
    }

    /// Returns the objects selected by service, scope and key.
    pub(super) fn objects(&self) -> WantedObjects {
        let Some(service) = self.text("service_name") else {
            return WantedObjects::Beginning(service_alias(""));
        };
        let named = |scope: Option<&str>, key: &str| object_of_service(service, scope, key);
        match (self.text("scope"), self.text("service_key")) {
            (Some(scope), Some(key)) => WantedObjects::One(named(Some(scope), key)),
            (Some(scope), None) => WantedObjects::Beginning(named(Some(scope), "").to_string()),
            (None, Some(key)) => {
                let others = format!("{}/{}", service_alias(service), scoped(service, Some("")));
                WantedObjects::InEveryScope(named(None, key), others)
            }
            (None, None) => WantedObjects::Beginning(format!("{}/", service_alias(service))),
        }
    }
}

/// The objects that a query selects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WantedObjects {
    /// A single object.
    One(ObjectId),
    /// The object without a scope, and objects in scopes whose names have this prefix.
    InEveryScope(ObjectId, String),
    /// All objects whose names have this prefix.
    Beginning(String),
}

impl WantedObjects {
    /// Returns prefixes that select the objects, or rows that belong to them. `of_one` returns the
    /// prefix for a single object.
    pub(super) fn prefixes(self, of_one: impl Fn(&ObjectId) -> String) -> Vec<String> {
        match self {
            Self::One(object) => vec![of_one(&object)],
            Self::InEveryScope(object, others) => vec![others, of_one(&object)],
            Self::Beginning(names) => vec![names],
        }
    }
}
