//! Stores of released versions. Each is opened, read, replayed and continued by the present
//! version.
//!
//! `tests/released/VERSION` holds the data that a host of that version left behind when it was
//! killed: the files of its SQLite database, an export of it, a dump of its PostgreSQL database,
//! and the row count of each table. A version that changes the stored data adds a folder, and never
//! changes an existing one:
//!
//! ```console
//! $ cargo test --workspace --test suites released:: -- --ignored
//! ```
//!
//! - `workload`: the content of a store;
//! - `continuation`: its expected continuation;
//! - `folder`: the files.

mod continuation;
mod folder;
mod workload;

use segno_demo::server::{DemoServer, ServerOptions};
use segno_env::Env;
use tests::{
    host_group::HostGroup,
    test_host::{self, TestHost},
};
use throwaway_postgres::Cluster;

use self::folder::{Folder, segno};

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");

/// Starts a host. Nothing becomes due for a while, so only the test continues executions.
async fn host(options: ServerOptions) -> DemoServer {
    DemoServer::start(options, Env::system()).await.unwrap_or_else(|error| panic!("{error}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_database_files_of_every_version_are_gone_on_with() {
    for released in Folder::all() {
        let place = tempfile::tempdir().expect("there is room for a folder");
        let options = test_host::options(SEGNO, place.path());
        released.unpack_database(&options.data);
        let data = options.data.display().to_string();
        folder::looks_sound(&data);
        continuation::check(&released, host(options).await).await;
        segno(&["doctor", "--store", &data]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_exports_of_every_version_are_gone_on_with() {
    for released in Folder::all() {
        let place = tempfile::tempdir().expect("there is room for a folder");
        let options = test_host::options(SEGNO, place.path());
        let (data, export) = (options.data.display().to_string(), released.export());
        segno(&["import", "--store", &data, &export.display().to_string()]);
        // Tables that were added later are empty.
        let has_rows = |rows: folder::Rows| -> folder::Rows {
            rows.into_iter().filter(|(_, rows)| *rows > 0).collect()
        };
        let rows = has_rows(folder::rows(&data, place.path()));
        assert_eq!(rows, has_rows(released.rows()), "{}: every row has moved", released.version());
        continuation::check(&released, host(options).await).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_postgresql_databases_of_every_version_are_gone_on_with() {
    let Some(cluster) = Cluster::shared() else { return };
    for released in Folder::all() {
        let place = tempfile::tempdir().expect("there is room for a folder");
        let database = cluster.database();
        database.load(&released.dump());
        folder::looks_sound(&database.url());
        let mut options = test_host::options(SEGNO, place.path());
        options.arguments = ["--store".to_owned(), database.url()].into();
        continuation::check(&released, host(options).await).await;
        segno(&["doctor", "--store", &database.url()]);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "writes the folder of this version"]
async fn write_the_stores_of_this_version() {
    let folder = Folder::of_this_version();
    let cluster = Cluster::shared().expect("PostgreSQL is needed for its dump");

    let mut host = TestHost::start(SEGNO).await;
    workload::run(host.client(), host.payments.address(), &host.env).await;
    host.server.kill().expect("it was alive");
    let data = host.server.options().data.clone();
    folder.pack_database(&data);
    let rows = folder::export(&data.display().to_string(), &folder.export());
    folder.keep_rows(&rows);

    let database = cluster.database();
    let url = database.url();
    let mut group = HostGroup::start(SEGNO, &url, 1, Default::default(), &[]).await;
    workload::run(group.client(0), group.payments.address(), &group.env).await;
    group.hosts[0].kill().expect("it was alive");
    folder.keep_dump(&database.dump());
}
