//! What a query wants of a table.

use std::collections::{BTreeMap, BTreeSet};

use segno_core::{
    address::{object_of_service, scoped, service_alias},
    id::ObjectId,
};

use super::tables::service_scheme;

/// The rows of a table that a query can use, and the columns that it reads. The database checks every row again, so more
/// rows than these do no harm.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct WantedRows {
    /// The names of the columns that are read.
    columns: BTreeSet<&'static str>,
    /// The texts that a column has one of.
    only: BTreeMap<&'static str, BTreeSet<String>>,
    /// The texts of which a column has none.
    never: BTreeMap<&'static str, BTreeSet<String>>,
}

impl WantedRows {
    /// All rows, of which these columns are read.
    pub fn of(columns: impl Iterator<Item = &'static str>) -> Self {
        Self { columns: columns.collect(), ..Self::default() }
    }

    /// Only rows are wanted in which the column is one of these texts.
    pub fn only(&mut self, column: &'static str, texts: BTreeSet<String>) {
        let both = match self.only.get(column) {
            Some(known) => known & &texts,
            None => texts,
        };
        self.only.insert(column, both);
    }

    /// No row is wanted in which the column is this text.
    pub fn never(&mut self, column: &'static str, text: String) {
        self.never.entry(column).or_default().insert(text);
    }

    /// Whether the value of a column is read.
    pub fn needs(&self, column: &str) -> bool {
        self.columns.contains(column)
    }

    /// The texts that a column may have; `None` if any.
    pub fn texts(&self, column: &str) -> Option<&BTreeSet<String>> {
        self.only.get(column)
    }

    /// Whether a column may have this text.
    pub fn may_be(&self, column: &str, text: &str) -> bool {
        self.texts(column).is_none_or(|texts| texts.contains(text))
            && self.never.get(column).is_none_or(|texts| !texts.contains(text))
    }

    /// The one text that a column may have; `None` if several, or any.
    pub fn text(&self, column: &str) -> Option<&str> {
        let texts = self.texts(column)?;
        texts.first().filter(|_| texts.len() == 1).map(String::as_str)
    }

    /// The objects that are wanted by their service, their scope and their key.
    pub fn objects(&self) -> WantedObjects {
        let Some(service) = self.text("service_name") else {
            return WantedObjects::Beginning(service_scheme());
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

/// The objects that a query wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WantedObjects {
    /// This one.
    One(ObjectId),
    /// This one, which is in no scope, and those in scopes, whose names begin so.
    InEveryScope(ObjectId, String),
    /// Those whose names begin so.
    Beginning(String),
}

impl WantedObjects {
    /// Beginnings of the names of them and of what belongs to them; `of_one` is that of what belongs to one.
    pub fn prefixes(self, of_one: impl Fn(&ObjectId) -> String) -> Vec<String> {
        match self {
            Self::One(object) => vec![of_one(&object)],
            Self::InEveryScope(object, others) => vec![others, of_one(&object)],
            Self::Beginning(names) => vec![names],
        }
    }
}
