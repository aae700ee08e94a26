//! Reads, the same for both databases: each file has the statements of one noun, and what their
//! rows mean.
//!
//! [`session`] is what a database has to offer. The reads are functions over a [`Session`];
//! [`Reader`] runs them on connections of its own, each of which sees everything that was committed
//! when a statement began.

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
mod limits;
pub(crate) mod list;
mod modules;
mod objects;
mod promises;
mod reader;
mod scan;
mod schedules;
mod size;

pub(crate) use self::{
    due::Leases,
    examine::read as examine,
    export::{export, refused},
    gather::gather,
    reader::Reader,
    scan::{candidates, finished},
    session::{Built, Dialect, Kind, Parameter, Select, Session, Unmerged},
    size::report as size_report,
};
use crate::{StoreError, sql::Failure};

/// The error of a read with this name.
pub(crate) fn failed<D: Dialect, F: Into<Failure>>(
    statement: &'static str,
) -> impl Fn(F) -> StoreError + Copy {
    move |source| D::failed(statement, source.into())
}

/// Every statement that looks for something, for the tests of their plans.
#[cfg(test)]
pub(crate) fn statements(kind: Kind) -> Vec<&'static str> {
    let all = [
        promises::STATEMENTS,
        facts::STATEMENTS,
        graph_nodes::STATEMENTS,
        journal::STATEMENTS,
        due::STATEMENTS,
        modules::STATEMENTS,
        objects::STATEMENTS,
        limits::STATEMENTS,
        events::STATEMENTS,
        schedules::STATEMENTS,
        call_tree::STATEMENTS,
        examine::STATEMENTS,
        scan::STATEMENTS,
    ];
    all.into_iter().flatten().map(|select| select.text(kind)).collect()
}

/// Those that PostgreSQL is to answer by indexes, whatever the statistics say: the page of a scan
/// may read a small table through.
#[cfg(test)]
pub(crate) fn walked_by_index(kind: Kind) -> Vec<&'static str> {
    let all = [
        promises::STATEMENTS,
        facts::STATEMENTS,
        graph_nodes::STATEMENTS,
        journal::STATEMENTS,
        due::STATEMENTS,
        modules::STATEMENTS,
        objects::STATEMENTS,
        limits::STATEMENTS,
        call_tree::STATEMENTS,
    ];
    all.into_iter().flatten().map(|select| select.text(kind)).collect()
}
