//! The tables: their columns, and where their rows come from.

mod invocations;
mod journal;
mod objects;
mod promises;
mod registered;

use segno_core::{
    address::{Address, SERVICE_SCHEME, service_of_alias},
    id::ObjectId,
    promise::Promise,
};
use segno_engine::services::ids::Called;

use super::{
    plan::Plan,
    row::{Row, Sieve},
    value::{Kind, Value},
};
use crate::{Api, restate::error::AdminError};

/// How many rows of a store make a page.
const PAGE: u32 = 500;

/// A table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// Invocations of services.
    Invocation,
    /// The same under an older name.
    InvocationStatus,
    /// The journal of an invocation.
    Journal,
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
    const ALL: [Self; 9] = [
        Self::Invocation,
        Self::InvocationStatus,
        Self::Journal,
        Self::State,
        Self::Service,
        Self::Deployment,
        Self::Promise,
        Self::Inbox,
        Self::KeyedServiceStatus,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Invocation => "sys_invocation",
            Self::InvocationStatus => "sys_invocation_status",
            Self::Journal => "sys_journal",
            Self::State => "state",
            Self::Service => "sys_service",
            Self::Deployment => "sys_deployment",
            Self::Promise => "sys_promise",
            Self::Inbox => "sys_inbox",
            Self::KeyedServiceStatus => "sys_keyed_service_status",
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
            Self::State => &objects::STATE,
            Self::Service => &registered::SERVICES,
            Self::Deployment => &registered::DEPLOYMENTS,
            Self::Promise => &promises::COLUMNS,
            Self::Inbox => &invocations::INBOX,
            Self::KeyedServiceStatus => &objects::TURNS,
        }
    }

    /// The column whose greatest value comes first in the order of its rows, as far as instants of several hosts
    /// have one: invocations are listed in the order of their creation, the newest first.
    pub fn newest_first(self) -> Option<&'static str> {
        match self {
            Self::Invocation | Self::InvocationStatus | Self::Inbox => Some("created_at"),
            Self::Journal
            | Self::State
            | Self::Service
            | Self::Deployment
            | Self::Promise
            | Self::KeyedServiceStatus => None,
        }
    }
}

/// The rows that a plan asks for.
///
/// # Errors
/// There are too many to be looked at, or the store did not answer.
pub async fn rows(api: &Api, plan: &Plan) -> Result<Vec<Row>, AdminError> {
    let mut sieve = Sieve::new(plan.table.name(), plan.condition.as_ref(), plan.enough());
    match plan.table {
        Table::Invocation | Table::InvocationStatus => {
            invocations::read(api, plan, &mut sieve).await?;
        }
        Table::Inbox => invocations::read_inbox(api, plan, &mut sieve).await?,
        Table::Journal => journal::read(api, plan, &mut sieve).await?,
        Table::State => objects::read_state(api, plan, &mut sieve).await?,
        Table::KeyedServiceStatus => objects::read_turns(api, plan, &mut sieve).await?,
        Table::Promise => promises::read(api, plan, &mut sieve).await?,
        Table::Service => registered::read_services(api, &mut sieve).await?,
        Table::Deployment => registered::read_deployments(api, &mut sieve).await?,
    }
    Ok(sieve.rows())
}

impl Plan {
    /// The texts that a column may have; none: any.
    fn texts(&self, column: &str) -> Option<Vec<String>> {
        self.condition.as_ref()?.texts(column).map(|texts| texts.into_iter().collect())
    }

    /// The one text that a column may have; none: several, or any.
    fn text(&self, column: &str) -> Option<String> {
        match self.texts(column)?.as_slice() {
            [text] => Some(text.clone()),
            _ => None,
        }
    }

    /// What the names of objects begin with that are asked for; the columns are those of the service and the key.
    fn object_prefix(&self, service: &str, key: &str) -> String {
        let Some(service) = self.text(service) else { return service_scheme() };
        let key = self.text(key).unwrap_or_default();
        let called = Called { service: &service, key: Some(&key), handler: "" };
        called.object().map_or_else(service_scheme, |object| object.to_string())
    }
}

/// What the names of all objects of services begin with.
fn service_scheme() -> String {
    segno_core::address::service_alias("")
}

/// The service and the key of an object; none: it is no object of a service.
fn service_and_key(object: &ObjectId) -> Option<(&str, &str)> {
    let (path, key) = object.as_str().split_once('@')?;
    let (alias, _) = path.rsplit_once('/')?;
    Some((service_of_alias(alias)?, key))
}

/// The service, the key and the handler that an invocation calls; none: it calls no service.
fn called(promise: &Promise) -> Option<(String, Option<String>, String)> {
    let target = promise.target().filter(|target| target.starts_with(SERVICE_SCHEME))?;
    match Address::parse(target).ok()? {
        Address::Service { service, key, handler } => {
            Some((service.to_string(), key.map(|key| key.to_string()), handler.to_string()))
        }
        _ => None,
    }
}

/// Bytes as text, where they are.
fn utf8(bytes: &[u8]) -> Value {
    Value::text(std::str::from_utf8(bytes).ok())
}
