//! The sources of the rows of tables.

mod entry;
mod events;
mod invocations;
mod journal;
mod objects;
mod parts;
mod promises;
mod registered;
mod schema;

use futures::future::BoxFuture;

use super::{
    rows::{RowSender, TableReader},
    table::QueryTable,
    wanted::WantedRows,
};
use crate::front::{ServicesApi, error::AdminResult};

/// Reads the current data of the store.
pub(super) struct LiveTableReader(pub ServicesApi);

impl TableReader for LiveTableReader {
    fn read(
        &self,
        table: QueryTable,
        wanted: WantedRows,
        rows: RowSender,
    ) -> BoxFuture<'static, AdminResult<()>> {
        let api = self.0.clone();
        Box::pin(async move { read(&api, table, &wanted, &rows).await })
    }
}

async fn read(
    api: &ServicesApi,
    table: QueryTable,
    wanted: &WantedRows,
    rows: &RowSender,
) -> AdminResult<()> {
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
