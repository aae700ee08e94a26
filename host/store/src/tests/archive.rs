//! A moved store has the same content and behaviour.

use std::path::Path;

use segno_core::{config::Config, reply::DamageKind, snapshot::Snapshot, time::Millis};
use segno_env::Clock as _;

use super::{HandClock, deploy, dice, env, postgres, script, sqlite};
use crate::{
    InvocationFilter, Scan, Store, StoreProblem,
    archive::{ArchiveError, ArchiveHead, ArchiveReader, ArchiveRow, ArchiveSource, ArchiveWriter},
    postgres::PostgresImport,
    sqlite::{SqliteImport, SqliteReader},
};

/// A store with rows of every kind.
pub(super) async fn populated(dir: &Path) -> Snapshot {
    let (clock, config) = (HandClock::new(), Config::default());
    let store = sqlite(dir, &clock, &config).await;
    deploy(&*store).await;
    let mut dice = dice::Dice::new(11);
    for _ in 0..600 {
        clock.advance(Millis(dice.roll(3_000) as i64));
        let seen = store.read().dump().await.expect("a dump");
        let command = script::command(&mut dice, &seen, clock.now());
        store.execute(vec![command]).await.expect("a reply");
    }
    let dump = store.read().dump().await.expect("a dump");
    assert!(dump.promises.len() > 20 && !dump.journals.is_empty() && !dump.outbox.is_empty());
    store.close().await;
    dump
}

pub(super) async fn written(dir: &Path) -> Vec<u8> {
    let look = SqliteReader::at(dir).await.expect("it is there");
    let file = packed_from(look.scan()).await;
    look.close().await;
    file
}

pub(super) async fn packed_from(scan: &dyn Scan) -> Vec<u8> {
    let mut writer = ArchiveWriter::begin(Vec::new()).expect("it begins");
    scan.export(&mut writer).await.expect("it is packed");
    writer.end().expect("it ends")
}

pub(super) async fn filled(dir: &Path, file: &[u8]) -> Result<(), ArchiveError> {
    let mut reader = ArchiveReader::begin(file)?;
    SqliteImport::from_source(dir, &mut reader).await?.keep().await
}

#[tokio::test]
async fn everything_arrives_in_the_order_in_which_it_was_made() {
    let (old, new) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("one"));
    let dump = populated(old.path()).await;
    let file = written(old.path()).await;
    filled(new.path(), &file).await.expect("it moves in");
    assert_eq!(written(new.path()).await, file, "the same rows make the same file");

    let (clock, config) = (HandClock::new(), Config::default());
    let moved = sqlite(new.path(), &clock, &config).await;
    let stayed = sqlite(old.path(), &clock, &config).await;
    assert_eq!(moved.read().dump().await.expect("a dump"), dump);
    let filter = InvocationFilter { limit: 1_000, ..InvocationFilter::default() };
    let (left, right) = (moved.read().list(&filter).await, stayed.read().list(&filter).await);
    let ids = |page: Result<crate::Page<crate::InvocationRow>, _>| {
        page.expect("a page")
            .items
            .into_iter()
            .map(|row| row.promise.id().clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(left), ids(right));
    for id in dump.promises.keys() {
        let (left, right) =
            (moved.read().logs(id, 0, 100).await, stayed.read().logs(id, 0, 100).await);
        assert_eq!(left.expect("logs"), right.expect("logs"));
    }
    for module in stayed.modules().list().await.expect("modules") {
        let component = moved.modules().component(module.digest).await.expect("a component");
        assert_eq!(
            component,
            stayed.modules().component(module.digest).await.expect("a component")
        );
    }
    // The moved store continues like the original.
    let mut dice = dice::Dice::new(12);
    for _ in 0..100 {
        let command = script::command(&mut dice, &dump, clock.now());
        let replies = moved.execute(vec![command.clone()]).await.expect("a reply");
        assert_eq!(replies, stayed.execute(vec![command]).await.expect("a reply"));
    }
    assert_eq!(
        moved.read().dump().await.expect("a dump"),
        stayed.read().dump().await.expect("a dump")
    );
}

#[tokio::test]
async fn a_move_that_is_interrupted_leaves_nothing() {
    let (old, new) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("one"));
    populated(old.path()).await;
    let file = written(old.path()).await;
    let cut = &file[..file.len() - 40];
    let error = filled(new.path(), cut).await.expect_err("it is cut");
    assert!(matches!(error, ArchiveError::Damaged(_)), "{error}");
    assert!(!new.path().join("segno.db").exists() && !new.path().join("segno.db.import").exists());
    // A process that died during an import leaves a file, which the next import removes.
    std::fs::write(new.path().join("segno.db.import"), "half a database").expect("a file");
    filled(new.path(), &file).await.expect("it moves in");
}

#[tokio::test]
async fn a_store_moves_into_an_empty_one_only() {
    let (old, new) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("one"));
    populated(old.path()).await;
    let file = written(old.path()).await;
    let error = filled(old.path(), &file).await.expect_err("it is not empty");
    assert!(matches!(error, ArchiveError::NotEmpty(_)), "{error}");
    // A host that was only started leaves the store empty.
    let clock = HandClock::new();
    let store = sqlite(new.path(), &clock, &Config::default()).await;
    let error = filled(new.path(), &file).await.expect_err("a host runs");
    assert!(error.to_string().contains("is in use by process"), "{error}");
    store.close().await;
    filled(new.path(), &file).await.expect("it moves in");
}

#[tokio::test]
async fn what_a_host_does_meanwhile_is_not_in_the_file() {
    let dir = tempfile::tempdir().expect("a directory");
    populated(dir.path()).await;
    let before = written(dir.path()).await;
    let clock = HandClock::new();
    let store = sqlite(dir.path(), &clock, &Config::default()).await;
    assert_eq!(written(dir.path()).await, before, "a host may run");
    store.execute(vec![super::create("late", &[])]).await.expect("a reply");
    assert_ne!(written(dir.path()).await, before);
    store.close().await;
}

/// An archive whose reading fails after some rows.
struct Interrupted<'a> {
    from: ArchiveReader<&'a [u8]>,
    after: u32,
}

impl ArchiveSource for Interrupted<'_> {
    fn head(&self) -> &ArchiveHead {
        self.from.head()
    }

    fn read_rows(&mut self) -> Result<Option<(usize, Vec<ArchiveRow>)>, ArchiveError> {
        if self.after == 0 {
            return Err(ArchiveError::Damaged("somebody pulled the plug".to_owned()));
        }
        self.after -= 1;
        self.from.read_rows()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_moves_to_postgresql_and_back() {
    let Some(database) = postgres::database() else { return };
    let (old, new) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("one"));
    let dump = populated(old.path()).await;
    let file = written(old.path()).await;
    let (clock, config) = (HandClock::new(), postgres::config(&database.url()));

    let reader = ArchiveReader::begin(&file[..]).expect("it begins");
    let mut interrupted = Interrupted { from: reader, after: 3 };
    let import = PostgresImport::from_source(&config, &env(&clock), &mut interrupted).await;
    assert!(matches!(import, Err(ArchiveError::Damaged(_))));
    let mut reader = ArchiveReader::begin(&file[..]).expect("it begins");
    let import = PostgresImport::from_source(&config, &env(&clock), &mut reader).await;
    let import = import.expect("the first one left nothing");
    let engine = Config::default();
    let checked = crate::examine(&import, clock.now(), &engine, |_| {}).await;
    let checked = checked.expect("a diagnosis");
    assert_eq!(checked.promises, dump.promises.len() as u64);
    // A child with a pending cancellation request looks like an orphan, but is none.
    let asked_to_stop = |finding: &StoreProblem| match finding {
        StoreProblem::Orphan { id, orphan: DamageKind::ChildRuns } => id.clone(),
        other => panic!("{other:?}"),
    };
    let candidates: Vec<_> = checked.findings.iter().map(asked_to_stop).collect();
    import.keep().await.expect("it is kept");

    let mut reader = ArchiveReader::begin(&file[..]).expect("it begins");
    let again = PostgresImport::from_source(&config, &env(&clock), &mut reader).await;
    assert!(matches!(again, Err(ArchiveError::NotEmpty(_))));

    let store = postgres::store(&database, &clock, &engine).await;
    assert_eq!(store.read().dump().await.expect("a dump"), dump);
    let scan = store.scan();
    assert_eq!(scan.candidates(0, 1_000).await.expect("candidates").items, candidates);
    let size = scan.size(3).await.expect("a size");
    assert!(size.bytes > 0 && size.trees.len() == 3, "{size:?}");
    // Both databases store rows alike, so nothing is lost on the way back.
    let back = packed_from(scan).await;
    filled(new.path(), &back).await.expect("it moves back");
    let moved = sqlite(new.path(), &clock, &engine).await;
    assert_eq!(moved.read().dump().await.expect("a dump"), dump);

    // The store continues, including its numbering.
    let mut dice = dice::Dice::new(13);
    for _ in 0..60 {
        let seen = store.read().dump().await.expect("a dump");
        let command = script::command(&mut dice, &seen, clock.now());
        let replies = store.execute(vec![command.clone()]).await.expect("a reply");
        assert_eq!(replies, moved.execute(vec![command]).await.expect("a reply"));
    }
    assert_eq!(
        moved.read().dump().await.expect("a dump"),
        store.read().dump().await.expect("a dump")
    );
    store.close().await;
}
