//! Children of a promise that does not exist: every store finds those that name it.

use segno_core::{config::Config, id::PromiseId, tags};

use super::{HandClock, create, forgetful, memory, postgres};
use crate::{ParentCursor, Store};

async fn named_children_are_found(store: &dyn Store) {
    let named = [(tags::PARENT, "nobody")];
    let made = [create("a", &named), create("b", &[(tags::PARENT, "a")]), create("c", &named)];
    store.execute(made.to_vec()).await.expect("they are made");
    let tree = store.call_tree();
    let parents = ["nobody", "a"].map(|id| ParentCursor { id: id.into(), after: 0 });
    for children in [tree.children(&parents, 9).await, tree.latest(&parents, 9).await] {
        let children = children.expect("children");
        let found: Vec<_> =
            children.iter().map(|it| (it.parent, it.row.promise.id().as_str())).collect();
        assert_eq!(found, [(0, "a"), (0, "c"), (1, "b")]);
    }
    let ids = ["nobody", "a", "no one"].map(PromiseId::from);
    let found = tree.neighbours(&ids, 9, 9).await.expect("neighbours");
    let found = found.into_iter().map(|it| it.map(|it| (it.number > 0, it.children)));
    assert_eq!(found.collect::<Vec<_>>(), [Some((false, 2)), Some((true, 1)), None]);
    let found = tree.neighbours(&ids, 0, 9).await.expect("neighbours");
    assert_eq!(found.iter().map(Option::is_some).collect::<Vec<_>>(), [false, true, false]);
    store.close().await;
}

#[tokio::test]
async fn in_memory() {
    named_children_are_found(&*memory(&HandClock::new(), &Config::default())).await;
}

#[tokio::test]
async fn in_sqlite() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = forgetful(dir.path(), &HandClock::new(), &Config::default()).await;
    named_children_are_found(&*store).await;
}

#[tokio::test]
async fn in_postgres() {
    let Some(database) = postgres::database() else { return };
    let store = postgres::store(&database, &HandClock::new(), &Config::default()).await;
    named_children_are_found(&*store).await;
}
