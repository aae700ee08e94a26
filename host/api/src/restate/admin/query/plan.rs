//! What a query asks for, and the answer from the rows of its table.

use std::{cmp::Ordering, collections::BTreeMap};

use serde_json::{Map, Value as Json};

use super::{condition::Condition, row::Row, tables::Table, value::Value};

/// A query over one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The table.
    pub table: Table,
    /// What is answered of each row, or of each group of rows.
    pub outputs: Vec<Output>,
    /// Which rows.
    pub condition: Option<Condition>,
    /// The columns in which rows of a group agree.
    pub groups: Vec<&'static str>,
    /// Whether groups are answered.
    pub is_grouped: bool,
    /// The order, the first one first.
    pub order: Vec<Order>,
    /// The most rows of the answer.
    pub limit: Option<usize>,
    /// How many come before them.
    pub offset: usize,
}

/// One value of each row of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Under what name.
    pub name: String,
    /// Which.
    pub source: Source,
}

/// Where a value of an answer comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A column.
    Column(&'static str),
    /// How many rows there are; with a column, how many have a value there.
    Count(Option<&'static str>),
    /// The least value of a column.
    Least(&'static str),
    /// The greatest.
    Greatest(&'static str),
}

/// One key of the order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// By what.
    pub source: Source,
    /// Whether the greatest comes first.
    pub descends: bool,
    /// Whether rows without a value come first.
    pub nulls_first: bool,
}

impl Source {
    /// The value of a group of rows; of a row, if there are no groups.
    fn of(&self, rows: &[Row]) -> Value {
        let values = |column: &'static str| {
            rows.iter().map(move |row| row.get(column)).filter(|value| !value.is_null())
        };
        match self {
            Self::Column(column) => rows.first().map_or(Value::Null, |row| row.get(column).clone()),
            Self::Count(None) => Value::count(rows.len()),
            Self::Count(Some(column)) => Value::count(values(column).count()),
            Self::Least(column) => values(column).min().cloned().unwrap_or(Value::Null),
            Self::Greatest(column) => values(column).max().cloned().unwrap_or(Value::Null),
        }
    }

    fn column(&self) -> Option<&'static str> {
        match self {
            Self::Column(column)
            | Self::Count(Some(column))
            | Self::Least(column)
            | Self::Greatest(column) => Some(column),
            Self::Count(None) => None,
        }
    }
}

impl Plan {
    /// Whether the value of a column is needed.
    pub fn needs(&self, column: &str) -> bool {
        let sources = self.outputs.iter().map(|output| &output.source);
        let sources = sources.chain(self.order.iter().map(|order| &order.source));
        let mut selected = sources.filter_map(Source::column).chain(self.groups.iter().copied());
        let asked = || self.condition.as_ref().is_some_and(|it| it.columns().contains(column));
        selected.any(|known| known == column) || asked()
    }

    /// How many rows are enough, whatever rows come after them; none: all are needed. Rows come in the order of
    /// the table.
    pub fn enough(&self) -> Option<usize> {
        let is_in_order = match self.order.as_slice() {
            [] => true,
            [order] => {
                order.descends
                    && self.table.newest_first().map(Source::Column).as_ref() == Some(&order.source)
            }
            _ => false,
        };
        self.limit
            .filter(|_| is_in_order && !self.is_grouped)
            .map(|limit| self.offset.saturating_add(limit))
    }

    /// The answer from the rows that the condition takes.
    pub fn answer(&self, rows: Vec<Row>) -> Vec<Json> {
        let mut groups: Vec<Vec<Row>> = match self.is_grouped {
            false => rows.into_iter().map(|row| vec![row]).collect(),
            true if self.groups.is_empty() => vec![rows],
            true => {
                let mut groups: BTreeMap<Vec<Value>, Vec<Row>> = BTreeMap::new();
                for row in rows {
                    let key = self.groups.iter().map(|column| row.get(column).clone()).collect();
                    groups.entry(key).or_default().push(row);
                }
                groups.into_values().collect()
            }
        };
        if !self.order.is_empty() {
            groups.sort_by_cached_key(|rows| Place {
                keys: self.order.iter().map(|order| order.source.of(rows)).collect(),
                order: &self.order,
            });
        }
        let shown = groups.iter().skip(self.offset).take(self.limit.unwrap_or(usize::MAX));
        shown.map(|rows| self.shown(rows)).collect()
    }

    fn shown(&self, rows: &[Row]) -> Json {
        let values = self
            .outputs
            .iter()
            .filter_map(|output| Some((output.name.clone(), output.source.of(rows).json()?)));
        Json::Object(values.collect::<Map<_, _>>())
    }
}

/// Where something stands in the order of an answer.
struct Place<'a> {
    keys: Vec<Value>,
    order: &'a [Order],
}

impl Ord for Place<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let keys = self.keys.iter().zip(&other.keys).zip(self.order);
        let keys = keys.map(|((left, right), order)| match (left.is_null(), right.is_null()) {
            (true, true) => Ordering::Equal,
            (false, false) if order.descends => right.cmp(left),
            (false, false) => left.cmp(right),
            (is_null, _) if is_null == order.nulls_first => Ordering::Less,
            _ => Ordering::Greater,
        });
        keys.fold(Ordering::Equal, Ordering::then)
    }
}

impl PartialOrd for Place<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Place<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Place<'_> {}
