//! The cost of a page of a listing does not depend on the number of rows that do not match.

use segno_core::{
    command::Command,
    config::Config,
    id::PromiseId,
    time::Timestamp,
    value::{Tags, Value},
};

use super::{HandClock, create, new, postgres, sqlite};
use crate::{InvocationFilter, PromiseFilter, Store};

/// More rows than a page examines.
const MANY: usize = 5_200;

/// Creates invocations; only the first one has a label and this prefix.
async fn fill(store: &dyn Store) {
    let first = create("rare/one", &[("target", "poll://w"), ("label:team", "blue")]);
    store.execute(vec![first]).await.expect("it is made");
    let ids: Vec<usize> = (0..MANY).collect();
    for some in ids.chunks(400) {
        let create = |n: &usize| create(&format!("common/{n:05}"), &[("target", "poll://w")]);
        store.execute(some.iter().map(create).collect()).await.expect("they are made");
    }
}

/// All pages of a listing: their number, and the listed ids.
async fn listed(store: &dyn Store, mut filter: InvocationFilter) -> (usize, Vec<PromiseId>) {
    let (mut pages, mut ids) = (0, Vec::new());
    loop {
        let page = store.read().list(&filter).await.expect("a page");
        pages += 1;
        ids.extend(page.items.iter().map(|row| row.promise.id().clone()));
        match page.next {
            None => return (pages, ids),
            next => filter.after = next,
        }
    }
}

async fn found(store: &dyn Store, mut filter: PromiseFilter) -> (usize, Vec<PromiseId>) {
    let (mut pages, mut ids) = (0, Vec::new());
    loop {
        let page = store.read().find(&filter).await.expect("a page");
        pages += 1;
        ids.extend(page.items.iter().map(|row| row.promise.id().clone()));
        match page.next {
            None => return (pages, ids),
            next => filter.after = next,
        }
    }
}

async fn a_page_looks_at_so_much_and_no_more(store: &dyn Store) {
    fill(store).await;
    let all = InvocationFilter::default;
    let rare = vec![PromiseId::from("rare/one")];
    let label = Some(("team".to_owned(), "blue".to_owned()));
    let labelled = InvocationFilter { label, ..all() };
    assert_eq!(listed(store, labelled.clone()).await, (2, rare.clone()), "by its label");
    let resolved = InvocationFilter { state: Some("resolved".to_owned()), ..all() };
    assert_eq!(listed(store, resolved).await, (2, Vec::new()), "by a state that none is in");
    let other = InvocationFilter { function: Some("other".to_owned()), ..all() };
    assert_eq!(listed(store, other).await, (2, Vec::new()), "by a function that there is not");
    // Rows found by an index come on the first page.
    for filter in [
        InvocationFilter { prefix: Some("rare/".to_owned()), ..all() },
        InvocationFilter { prefix: Some("rare/".to_owned()), ..labelled },
    ] {
        assert_eq!(listed(store, filter.clone()).await, (1, rare.clone()), "{filter:?}");
    }
    for state in ["halted", "acquired"] {
        let filter = InvocationFilter { state: Some(state.to_owned()), ..all() };
        assert_eq!(listed(store, filter).await, (1, Vec::new()), "{state}");
    }
    let long = InvocationFilter { prefix: Some("common/".to_owned()), limit: 1_000, ..all() };
    let (pages, ids) = listed(store, long).await;
    assert_eq!((pages, ids.len()), (6, MANY), "each once, the newest first");
    assert!(ids.is_sorted_by(|one, other| one > other));

    let tags = Tags::from([("label:team".to_owned(), "blue".to_owned())]);
    let by_tag = PromiseFilter { tags: tags.clone(), ..PromiseFilter::default() };
    assert_eq!(found(store, by_tag).await, (2, rare.clone()), "by a tag");
    let both = PromiseFilter { tags, prefix: Some("rare/".to_owned()), ..PromiseFilter::default() };
    assert_eq!(found(store, both).await, (1, rare));
    let limit = 1_000;
    let (pages, ids) = found(store, PromiseFilter { limit, ..PromiseFilter::default() }).await;
    assert_eq!((pages, ids.len()), (6, MANY + 1), "each once, by id");
    assert!(ids.is_sorted());
}

#[tokio::test]
async fn a_page_looks_at_so_much_and_no_more_in_sqlite() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = sqlite(dir.path(), &HandClock::new(), &Config::default()).await;
    a_page_looks_at_so_much_and_no_more(&*store).await;
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_looks_at_so_much_and_no_more_in_postgresql() {
    let Some(database) = postgres::database() else { return };
    let store = postgres::store(&database, &HandClock::new(), &Config::default()).await;
    a_page_looks_at_so_much_and_no_more(&*store).await;
    // The clients' connections use other plans, and find the same rows.
    let clients = store.for_clients().expect("it has some");
    let blue = Some(("team".to_owned(), "blue".to_owned()));
    let filter = InvocationFilter { label: blue, ..InvocationFilter::default() };
    assert_eq!(listed(&*clients, filter).await.1, [PromiseId::from("rare/one")]);
    store.close().await;
}

/// Values that together exceed the size of a page are split into several pages.
#[tokio::test]
async fn a_page_of_promises_ends_where_it_becomes_large() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = sqlite(dir.path(), &HandClock::new(), &Config::default()).await;
    let long = "x".repeat(1 << 20);
    for n in 0..6 {
        let mut new = new(&format!("p{n}"), &[], Timestamp::NEVER);
        new.param = Value::of(long.as_bytes());
        store.execute(vec![Command::PromiseCreate(new)]).await.expect("it is made");
    }
    let (pages, ids) = found(&*store, PromiseFilter::default()).await;
    assert_eq!((pages, ids.len()), (2, 6));
    store.close().await;
}
