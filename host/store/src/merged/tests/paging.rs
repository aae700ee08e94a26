//! Pages of every length give each row once, in order.

use std::fmt::Debug;

use segno_core::{time::Timestamp, value::Tags};
use segno_env::Clock as _;

use super::{divided, scripted};
use crate::{
    InvocationFilter, LimitFilter, ObjectFilter, PromiseFilter, PromiseStateFilter, ScheduleFilter,
    Store,
};

const PAGES: [u32; 4] = [1, 2, 3, 7];

/// Reads pages until the last. The reader returns a page and the cursor of the next.
async fn walked<T, C>(read: impl AsyncFn(Option<C>) -> (Vec<T>, Option<C>), most: usize) -> Vec<T> {
    let (mut rows, mut after) = (Vec::new(), None);
    for _ in 0..1_000 {
        let (page, next) = read(after).await;
        assert!(page.len() <= most, "a page of {} rows", page.len());
        rows.extend(page);
        match next {
            Some(next) => after = Some(next),
            None => return rows,
        }
    }
    panic!("the pages do not end")
}

fn texts<T: Debug>(rows: &[T]) -> Vec<String> {
    rows.iter().map(|row| format!("{row:?}")).collect()
}

async fn invocations(store: &dyn Store, filter: &InvocationFilter, limit: u32) -> Vec<String> {
    let read = async |after| {
        let filter = InvocationFilter { after, limit, ..filter.clone() };
        let page = store.read().list(&filter).await.expect("a list");
        (texts(&page.items), page.next)
    };
    walked(read, limit as usize).await
}

async fn promises(store: &dyn Store, filter: &PromiseFilter, limit: u32) -> Vec<String> {
    let read = async |after| {
        let filter = PromiseFilter { after, limit, ..filter.clone() };
        let page = store.read().find(&filter).await.expect("promises");
        (texts(&page.items), page.next)
    };
    walked(read, limit as usize).await
}

async fn objects(store: &dyn Store, limit: u32) -> Vec<String> {
    let read = async |after| {
        let filter = ObjectFilter { after, limit, ..ObjectFilter::default() };
        let page = store.read().objects(&filter).await.expect("objects");
        (texts(&page.items), page.next)
    };
    walked(read, limit as usize).await
}

async fn limits(store: &dyn Store, limit: u32) -> Vec<String> {
    let read = async |after| {
        let page = store.read().limits(&LimitFilter { after, limit }).await.expect("limits");
        (texts(&page.items), page.next)
    };
    walked(read, limit as usize).await
}

async fn schedules(store: &dyn Store, limit: u32) -> Vec<String> {
    let read = async |after| {
        let filter = ScheduleFilter { after, limit, ..ScheduleFilter::default() };
        let page = store.read().schedules(&filter).await.expect("schedules");
        (texts(&page.items), page.next)
    };
    walked(read, limit as usize).await
}

async fn ready(store: &dyn Store, now: Timestamp, limit: u32) -> Vec<String> {
    let read = async |after| {
        let page = store.work_queue().ready(now, after, limit).await.expect("tasks");
        (texts(&page), page.last().map(|task| task.cursor))
    };
    walked(read, limit as usize).await
}

async fn events(store: &dyn Store, limit: u32) -> Vec<String> {
    let read = async |after| {
        let page = store.read().events(after, limit).await.expect("events");
        (texts(&page), page.last().map(|event| event.place))
    };
    walked(read, limit as usize).await
}

async fn candidates(store: &dyn Store, limit: u32) -> Vec<String> {
    let read = async |after: Option<i64>| {
        let page = store.scan().candidates(after.unwrap_or(0), limit).await.expect("a page");
        (texts(&page.items), page.next)
    };
    walked(read, limit as usize).await
}

async fn finished(store: &dyn Store, before: Timestamp, limit: u32) -> Vec<String> {
    let read = async |after: Option<i64>| {
        let page = store.scan().finished(after.unwrap_or(0), limit, before).await.expect("a page");
        (texts(&page.items), page.next)
    };
    walked(read, limit as usize).await
}

async fn examined(store: &dyn Store, limit: u32) -> Vec<String> {
    let read = async |after: Option<i64>| {
        let page = store.scan().examine(None, after.unwrap_or(0), limit).await.expect("a page");
        for id in &page.ids {
            assert!(page.view.promise(id).is_some(), "{id} is not in its page");
        }
        (texts(&page.ids), page.next)
    };
    walked(read, limit as usize).await
}

#[tokio::test]
async fn each_row_is_on_one_page() {
    let mut most = [0; 9];
    for seed in 20..28 {
        let (whole, clock) = scripted(seed, 260).await;
        let (one, merged) = (&*whole as &dyn Store, divided(&whole, 3));
        let (now, all) = (clock.now(), 1_000);
        let invocation_filters = [
            InvocationFilter::default(),
            InvocationFilter { roots: true, ..InvocationFilter::default() },
            InvocationFilter { state: Some("resolved".into()), ..InvocationFilter::default() },
        ];
        let promise_filters = [
            PromiseFilter::default(),
            PromiseFilter {
                standing: Some(PromiseStateFilter::Pending),
                tags: Tags::new(),
                ..PromiseFilter::default()
            },
            PromiseFilter { prefix: Some("a".to_owned()), ..PromiseFilter::default() },
        ];
        for limit in PAGES {
            let mut found = Vec::new();
            for filter in &invocation_filters {
                let expected = invocations(one, filter, all).await;
                assert_eq!(invocations(&merged, filter, limit).await, expected);
                found.push(expected.len());
            }
            for filter in &promise_filters {
                let expected = promises(one, filter, all).await;
                assert_eq!(promises(&merged, filter, limit).await, expected);
            }
            let expected = objects(one, all).await;
            assert_eq!(objects(&merged, limit).await, expected);
            found.push(expected.len());
            let expected = limits(one, all).await;
            assert_eq!(limits(&merged, limit).await, expected);
            found.push(expected.len());
            let expected = schedules(one, all).await;
            assert_eq!(schedules(&merged, limit).await, expected);
            found.push(expected.len());
            let expected = ready(one, now, all).await;
            assert_eq!(ready(&merged, now, limit).await, expected);
            found.push(expected.len());
            let expected = events(one, all).await;
            assert_eq!(events(&merged, limit).await, expected);
            found.push(expected.len());
            // Scans walk one database after the other.
            for (mut expected, mut found) in [
                (candidates(one, all).await, candidates(&merged, limit).await),
                (finished(one, now, all).await, finished(&merged, now, limit).await),
                (examined(one, all).await, examined(&merged, limit).await),
            ] {
                expected.sort();
                found.sort();
                assert_eq!(found, expected);
            }
            found.push(finished(one, now, all).await.len());
            for (most, found) in most.iter_mut().zip(found) {
                *most = found.max(*most);
            }
        }
        // The promises that one invocation made.
        for id in whole.read().dump().await.expect("a dump").promises.keys() {
            let read = async |after: Option<i64>| {
                let after = after.unwrap_or(0);
                let page = merged.scan().examine(Some(id), after, 2).await.expect("a page");
                (texts(&page.ids), page.next)
            };
            let expected = one.scan().examine(Some(id), 0, all).await.expect("a page").ids;
            assert_eq!(walked(read, 2).await, texts(&expected));
        }
    }
    assert!(most.iter().all(|most| *most >= 2), "lists of {most:?} rows show nothing");
}
