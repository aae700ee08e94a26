//! The tables: columns, and sources of their rows.

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
    row::TableRow,
    rows::{RowSender, TableReader},
    value::{ColumnType, RowValue},
    wanted::WantedRows,
};
use crate::front::{ServicesApi, error::AdminError};

/// Number of rows in a page of the store.
const PAGE: u32 = 500;

/// A table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum QueryTable {
    /// Invocations of services.
    Invocation,
    /// Invocations of services, with other status names.
    InvocationStatus,
    /// Journals of invocations.
    Journal,
    /// Events of invocations outside their journals.
    JournalEvents,
    /// State of objects.
    State,
    /// Services.
    Service,
    /// Deployments.
    Deployment,
    /// Promises of workflows.
    Promise,
    /// Invocations that wait for their turn.
    Inbox,
    /// Holders of the turns of keys.
    KeyedServiceStatus,
    /// Concurrency rules.
    Rules,
    /// Virtual queues.
    Queues,
    /// List of tables.
    Tables,
    /// List of columns.
    Columns,
}

/// A column of a table.
#[derive(Debug, PartialEq, Eq)]
pub struct TableColumn {
    /// Name of the column.
    pub name: &'static str,
    /// Type of the column.
    pub kind: ColumnType,
}

impl TableColumn {
    const fn new(name: &'static str, kind: ColumnType) -> Self {
        Self { name, kind }
    }
}

impl QueryTable {
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

    /// Name of the table.
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

    /// Returns the table with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|table| table.name() == name)
    }

    /// Columns of the table.
    pub fn columns(self) -> &'static [TableColumn] {
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

    /// Returns the columns whose conditions narrow the read.
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

    /// Returns the column whose values the reader requires.
    pub fn read_by(self) -> Option<&'static str> {
        match self {
            Self::Journal | Self::JournalEvents => Some("id"),
            _ => None,
        }
    }

    /// Returns the column by which the table is sorted in descending order, as far as clocks of
    /// several hosts allow: invocations are listed by creation, newest first.
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

    /// Returns true if a column of this name is an instant, in any table.
    pub fn has_time(column: &str) -> bool {
        let columns = Self::ALL.into_iter().flat_map(Self::columns);
        columns
            .filter(|known| known.kind == ColumnType::Time)
            .any(|known| known.name.eq_ignore_ascii_case(column))
    }
}

/// Reads the current data of the store.
pub struct LiveTableReader(pub ServicesApi);

impl TableReader for LiveTableReader {
    fn read(
        &self,
        table: QueryTable,
        wanted: WantedRows,
        rows: RowSender,
    ) -> BoxFuture<'static, Result<(), AdminError>> {
        let api = self.0.clone();
        Box::pin(async move { read(&api, table, &wanted, &rows).await })
    }
}

async fn read(
    api: &ServicesApi,
    table: QueryTable,
    wanted: &WantedRows,
    rows: &RowSender,
) -> Result<(), AdminError> {
    match table {
        QueryTable::Invocation | QueryTable::InvocationStatus => {
            invocations::read(api, table, wanted, rows).await
        }
        QueryTable::Inbox => invocations::read_inbox(api, wanted, rows).await,
        QueryTable::Journal => journal::read(api, wanted, rows).await,
        QueryTable::JournalEvents => events::read(api, wanted, rows).await,
        QueryTable::State => objects::read_state(api, wanted, rows).await,
        QueryTable::KeyedServiceStatus => objects::read_turns(api, wanted, rows).await,
        QueryTable::Promise => promises::read(api, wanted, rows).await,
        QueryTable::Service => registered::read_services(api, rows).await,
        QueryTable::Deployment => registered::read_deployments(api, rows).await,
        QueryTable::Rules | QueryTable::Queues => Ok(()),
        QueryTable::Tables => schema::read_tables(rows).await,
        QueryTable::Columns => schema::read_columns(rows).await,
    }
}

/// Common prefix of the names of all services' objects.
pub fn service_scheme() -> String {
    segno_core::address::service_alias("")
}

/// Returns the service, the scope and the key of an object as columns; `None` if it is not an
/// object of a service.
fn of_object(object: &ObjectId) -> Option<TableRow> {
    let (service, scope, key) = service_of_object(object)?;
    Some(TableRow::from([
        ("service_name", RowValue::Text(service.to_owned())),
        ("scope", RowValue::text(scope.map(str::to_owned))),
        ("service_key", RowValue::Text(key.to_owned())),
    ]))
}

/// Returns the address that an invocation calls; `None` if it does not call a service.
fn called(promise: &Promise) -> Option<Address> {
    let target = promise.target().filter(|target| target.starts_with(SERVICE_SCHEME))?;
    Address::parse(target).ok()
}

/// Returns bytes as text, or null if they are not UTF-8.
fn utf8(bytes: &[u8]) -> RowValue {
    RowValue::text(std::str::from_utf8(bytes).ok())
}
