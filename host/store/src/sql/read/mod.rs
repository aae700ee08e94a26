//! Reads for both databases: each file contains the statements about one kind of entity, and the
//! decoding of their rows.
//!
//! [`session`] defines the interface to a database. The reads are functions over a [`DatabaseSession`].
//! [`Reader`] runs them on its own connections; each statement sees everything committed before it
//! began.

mod budgets;
mod session;

pub(crate) mod call_tree;
pub(crate) mod counts;
mod due;
mod dump;
mod events;
mod examine;
mod export;
mod facts;
pub(crate) mod find;
mod gather;
mod graph_nodes;
mod journal;
mod large_values;
mod limits;
pub(crate) mod list;
mod modules;
mod objects;
mod promises;
mod reader;
mod scan;
mod schedules;
mod size;
mod streams;

pub(crate) use self::{
    due::ExpiredLeases,
    examine::read as examine,
    export::{READ_ALL, each_row, export, head as archive_head, refused},
    gather::gather,
    large_values::{chunks, chunks_of_records},
    reader::Reader,
    scan::{candidates, finished},
    session::{
        BuiltStatement, DatabaseKind, DatabaseSession, Parameter, Select, SqlDialect,
        UnmergedJournals,
    },
    size::report as size_report,
};
use crate::{StoreError, sql::SqlFailure};

/// An error of the read named `statement`.
pub(crate) fn failed<D: SqlDialect, F: Into<SqlFailure>>(
    statement: &'static str,
) -> impl Fn(F) -> StoreError + Copy {
    move |source| D::failed(statement, source.into())
}

/// All statements with a search condition, for tests of query plans.
#[cfg(test)]
pub(crate) fn statements(kind: DatabaseKind) -> Vec<&'static str> {
    let all = [
        promises::STATEMENTS,
        facts::STATEMENTS,
        graph_nodes::STATEMENTS,
        journal::STATEMENTS,
        large_values::STATEMENTS,
        due::STATEMENTS,
        modules::STATEMENTS,
        objects::STATEMENTS,
        limits::STATEMENTS,
        events::STATEMENTS,
        schedules::STATEMENTS,
        call_tree::STATEMENTS,
        examine::STATEMENTS,
        scan::STATEMENTS,
        budgets::STATEMENTS,
        streams::STATEMENTS,
    ];
    all.into_iter().flatten().map(|select| select.text(kind)).collect()
}

/// The statements that PostgreSQL must answer by indexes, whatever the statistics. Excludes the
/// page of a scan, which may read a small table sequentially.
#[cfg(test)]
pub(crate) fn walked_by_index(kind: DatabaseKind) -> Vec<&'static str> {
    let all = [
        promises::STATEMENTS,
        facts::STATEMENTS,
        graph_nodes::STATEMENTS,
        journal::STATEMENTS,
        large_values::STATEMENTS,
        due::STATEMENTS,
        modules::STATEMENTS,
        objects::STATEMENTS,
        limits::STATEMENTS,
        call_tree::STATEMENTS,
        budgets::STATEMENTS,
        streams::STATEMENTS,
    ];
    all.into_iter().flatten().map(|select| select.text(kind)).collect()
}
