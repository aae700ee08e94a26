//! The tables: their columns, and where their rows come from.

mod entry;
mod events;
mod invocations;
mod journal;
mod objects;
mod promises;
mod queues;
mod registered;
mod schema;

use futures::future::BoxFuture;
use segno_core::{
    address::{Address, SERVICE_SCHEME, service_of_object},
    id::ObjectId,
    promise::Promise,
};

use super::{
    row::Row,
    rows::{Rows, TableReader},
    value::{Kind, Value},
    wanted::WantedRows,
};
use crate::front::{Api, error::AdminError};

/// How many rows of a store make a page.
const PAGE: u32 = 500;

/// A table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Table {
    /// Invocations of services.
    Invocation,
    /// The same with other names of where they stand.
    InvocationStatus,
    /// The journal of an invocation.
    Journal,
    /// What happened to an invocation beside its journal.
    JournalEvents,
    /// The state of objects.
    State,
    /// Services.
    Service,
    /// Deployments.
    Deployment,
    /// Promises of workflows.
    Promise,
    /// Invocations that wait for their turn.
    Inbox,
    /// Whose turn it is.
    KeyedServiceStatus,
    /// Rules of concurrency.
    Rules,
    /// Virtual queues.
    Queues,
    /// The tables.
    Tables,
    /// Their columns.
    Columns,
}

/// A column.
#[derive(Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
}

impl Column {
    const fn new(name: &'static str, kind: Kind) -> Self {
        Self { name, kind }
    }
}

impl Table {
    /// All tables.
    pub const ALL: [Self; 14] = [
        Self::Invocation,
        Self::InvocationStatus,
        Self::Journal,
        Self::JournalEvents,
        Self::State,
        Self::Service,
        Self::Deployment,
        Self::Promise,
        Self::Inbox,
        Self::KeyedServiceStatus,
        Self::Rules,
        Self::Queues,
        Self::Tables,
        Self::Columns,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Invocation => "sys_invocation",
            Self::InvocationStatus => "sys_invocation_status",
            Self::Journal => "sys_journal",
            Self::JournalEvents => "sys_journal_events",
            Self::State => "state",
            Self::Service => "sys_service",
            Self::Deployment => "sys_deployment",
            Self::Promise => "sys_promise",
            Self::Inbox => "sys_inbox",
            Self::KeyedServiceStatus => "sys_keyed_service_status",
            Self::Rules => "sys_rules",
            Self::Queues => "sys_vqueue_meta",
            Self::Tables => "information_schema.tables",
            Self::Columns => "information_schema.columns",
        }
    }

    /// The names of all tables.
    pub fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }

    /// The table with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|table| table.name() == name)
    }

    /// Its columns.
    pub fn columns(self) -> &'static [Column] {
        match self {
            Self::Invocation | Self::InvocationStatus => &invocations::COLUMNS,
            Self::Journal => &journal::COLUMNS,
            Self::JournalEvents => &events::COLUMNS,
            Self::State => &objects::STATE,
            Self::Service => &registered::SERVICES,
            Self::Deployment => &registered::DEPLOYMENTS,
            Self::Promise => &promises::COLUMNS,
            Self::Inbox => &invocations::INBOX,
            Self::KeyedServiceStatus => &objects::TURNS,
            Self::Rules => &queues::RULES,
            Self::Queues => &queues::QUEUES,
            Self::Tables => &schema::TABLES,
            Self::Columns => &schema::COLUMNS,
        }
    }

    /// The columns of which its reader wants to know what a query says.
    pub fn narrows(self) -> &'static [&'static str] {
        match self {
            Self::Invocation | Self::InvocationStatus => &[
                "id",
                "target",
                "target_service_name",
                "target_service_key",
                "target_handler_name",
                "status",
            ],
            Self::Journal | Self::JournalEvents => &["id"],
            Self::State | Self::Promise => &["service_name", "scope", "service_key", "key"],
            Self::KeyedServiceStatus => &["service_name", "scope", "service_key"],
            Self::Inbox => &["target"],
            Self::Service
            | Self::Deployment
            | Self::Rules
            | Self::Queues
            | Self::Tables
            | Self::Columns => &[],
        }
    }

    /// The column of which its reader has to know the values.
    pub fn read_by(self) -> Option<&'static str> {
        match self {
            Self::Journal | Self::JournalEvents => Some("id"),
            _ => None,
        }
    }

    /// The column whose greatest value comes first in the order of its rows, as far as instants of several hosts
    /// have one: invocations are listed in the order of their creation, the newest first.
    pub fn newest_first(self) -> Option<&'static str> {
        match self {
            Self::Invocation | Self::InvocationStatus => Some("created_at"),
            Self::Inbox
            | Self::Journal
            | Self::JournalEvents
            | Self::State
            | Self::Service
            | Self::Deployment
            | Self::Promise
            | Self::KeyedServiceStatus
            | Self::Rules
            | Self::Queues
            | Self::Tables
            | Self::Columns => None,
        }
    }

    /// Whether a column of this name is an instant, in whichever table.
    pub fn has_time(column: &str) -> bool {
        let columns = Self::ALL.into_iter().flat_map(Self::columns);
        columns
            .filter(|known| known.kind == Kind::Time)
            .any(|known| known.name.eq_ignore_ascii_case(column))
    }
}

/// Reads what the store has now.
pub struct Live(pub Api);

impl TableReader for Live {
    fn read(
        &self,
        table: Table,
        wanted: WantedRows,
        rows: Rows,
    ) -> BoxFuture<'static, Result<(), AdminError>> {
        let api = self.0.clone();
        Box::pin(async move { read(&api, table, &wanted, &rows).await })
    }
}

async fn read(api: &Api, table: Table, wanted: &WantedRows, rows: &Rows) -> Result<(), AdminError> {
    match table {
        Table::Invocation | Table::InvocationStatus => {
            invocations::read(api, table, wanted, rows).await
        }
        Table::Inbox => invocations::read_inbox(api, wanted, rows).await,
        Table::Journal => journal::read(api, wanted, rows).await,
        Table::JournalEvents => events::read(api, wanted, rows).await,
        Table::State => objects::read_state(api, wanted, rows).await,
        Table::KeyedServiceStatus => objects::read_turns(api, wanted, rows).await,
        Table::Promise => promises::read(api, wanted, rows).await,
        Table::Service => registered::read_services(api, rows).await,
        Table::Deployment => registered::read_deployments(api, rows).await,
        Table::Rules | Table::Queues => Ok(()),
        Table::Tables => schema::read_tables(rows).await,
        Table::Columns => schema::read_columns(rows).await,
    }
}

/// What the names of all objects of services begin with.
pub fn service_scheme() -> String {
    segno_core::address::service_alias("")
}

/// The service, the scope and the key of an object, as columns; none: it is no object of a service.
fn of_object(object: &ObjectId) -> Option<Row> {
    let (service, scope, key) = service_of_object(object)?;
    Some(Row::from([
        ("service_name", Value::Text(service.to_owned())),
        ("scope", Value::text(scope.map(str::to_owned))),
        ("service_key", Value::Text(key.to_owned())),
    ]))
}

/// The address that an invocation calls; none: it calls no service.
fn called(promise: &Promise) -> Option<Address> {
    let target = promise.target().filter(|target| target.starts_with(SERVICE_SCHEME))?;
    Address::parse(target).ok()
}

/// Bytes as text, where they are.
fn utf8(bytes: &[u8]) -> Value {
    Value::text(std::str::from_utf8(bytes).ok())
}
