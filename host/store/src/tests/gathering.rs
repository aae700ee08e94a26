//! Gathering of executions: the same from every store, each promise once, as of one instant.

use std::{io, sync::Arc};

use segno_core::{
    command::Command,
    config::Config,
    id::PromiseId,
    invocation::Record,
    promise::Verdict,
    stream::{DurableStream, StreamChunk},
    value::Value,
};

use super::{HandClock, create, sqlite};
use crate::{
    GatherError, GatherReason, GatherSelection, GatherSink, LogRow, PromiseRow,
    RequestedExecutions, Store,
};

/// The gathered rows, as text.
#[derive(Default)]
struct Written(Vec<String>);

impl GatherSink for Written {
    fn promise(&mut self, row: PromiseRow, because: GatherReason) -> io::Result<()> {
        self.0.push(format!("{because:?} {row:?}"));
        Ok(())
    }

    fn records(&mut self, records: Vec<Record>) -> io::Result<()> {
        self.0.extend(records.iter().map(|record| format!("{record:?}")));
        Ok(())
    }

    fn lines(&mut self, lines: Vec<LogRow>) -> io::Result<()> {
        self.0.extend(lines.iter().map(|line| format!("{line:?}")));
        Ok(())
    }

    fn stream(&mut self, stream: DurableStream) -> io::Result<()> {
        self.0.push(format!("{stream:?}"));
        Ok(())
    }

    fn stream_items(&mut self, items: Vec<StreamChunk>) -> io::Result<()> {
        self.0.extend(items.iter().map(|items| format!("{items:?}")));
        Ok(())
    }
}

async fn gathered(
    store: &dyn Store,
    asked: RequestedExecutions,
    tree: bool,
) -> Result<Vec<String>, GatherError> {
    let mut written = Written::default();
    store.scan().gather(&GatherSelection { asked, tree }, &mut written).await?;
    Ok(written.0)
}

/// The results of gathering these promises one by one, with and without their trees, and of
/// gathering unfinished executions.
pub(super) async fn answers(store: &dyn Store, ids: &[PromiseId]) -> Vec<String> {
    let mut answers = Vec::new();
    for (asked, tree) in [
        (RequestedExecutions::Ids(ids.to_vec()), false),
        (RequestedExecutions::Ids(ids.first().cloned().into_iter().collect()), true),
        (RequestedExecutions::Ids(vec!["nobody at all".into()]), true),
        (RequestedExecutions::InFlight("shop".to_owned()), true),
    ] {
        answers.push(match gathered(store, asked, tree).await {
            Ok(written) => written.join("\n"),
            Err(error) => error.to_string(),
        });
    }
    answers
}

/// Gathering ends for a tree with cyclic tags, and when the sink fails.
#[tokio::test]
async fn each_promise_is_gathered_once() {
    let dir = tempfile::tempdir().expect("a directory");
    let clock = HandClock::new();
    let store = sqlite(dir.path(), &clock, &Config::default()).await;
    let made = [("a", "c"), ("b", "a"), ("c", "b"), ("other", "nobody")];
    let made = made.map(|(id, parent)| create(id, &[("target", "poll://w"), ("parent", parent)]));
    store.execute(made.to_vec()).await.expect("they are made");
    let ids = |written: Vec<String>| {
        let roles = written.iter().filter_map(|line| line.split_whitespace().next());
        roles.map(str::to_owned).collect::<Vec<_>>()
    };
    let asked = || RequestedExecutions::Ids(vec!["a".into(), "a".into()]);
    let whole = gathered(&*store, asked(), true).await.expect("they are there");
    assert_eq!(ids(whole), ["Asked", "Member", "Member"]);
    let alone = gathered(&*store, asked(), false).await.expect("it is there");
    assert_eq!(ids(alone), ["Asked"]);

    struct Full;
    impl GatherSink for Full {
        fn promise(&mut self, _: PromiseRow, _: GatherReason) -> io::Result<()> {
            Err(io::Error::from(io::ErrorKind::StorageFull))
        }
        fn records(&mut self, _: Vec<Record>) -> io::Result<()> {
            Ok(())
        }
        fn lines(&mut self, _: Vec<LogRow>) -> io::Result<()> {
            Ok(())
        }
        fn stream(&mut self, _: DurableStream) -> io::Result<()> {
            Ok(())
        }
        fn stream_items(&mut self, _: Vec<StreamChunk>) -> io::Result<()> {
            Ok(())
        }
    }
    let selection = GatherSelection { asked: asked(), tree: true };
    let failed = store.scan().gather(&selection, &mut Full).await;
    assert!(matches!(failed, Err(GatherError::Sink(_))), "{failed:?}");
    store.close().await;
}

/// A sink that changes the store while it receives rows: later rows are still as before the change.
#[tokio::test(flavor = "multi_thread")]
async fn what_changes_meanwhile_is_not_seen() {
    struct Changing(Arc<dyn Store>, Written);
    impl GatherSink for Changing {
        fn promise(&mut self, row: PromiseRow, because: GatherReason) -> io::Result<()> {
            if self.1.0.is_empty() {
                let store = self.0.clone();
                let settle = Command::PromiseSettle {
                    id: "a/late".into(),
                    verdict: Verdict::Resolved,
                    value: Value::of(&b"1"[..]),
                };
                let more = create("a/more", &[("parent", "a")]);
                tokio::task::block_in_place(|| {
                    tokio::runtime::Handle::current()
                        .block_on(store.execute(vec![settle, more]))
                        .map(drop)
                        .map_err(io::Error::other)
                })?;
            }
            self.1.promise(row, because)
        }
        fn records(&mut self, records: Vec<Record>) -> io::Result<()> {
            self.1.records(records)
        }
        fn lines(&mut self, lines: Vec<LogRow>) -> io::Result<()> {
            self.1.lines(lines)
        }
        fn stream(&mut self, stream: DurableStream) -> io::Result<()> {
            self.1.stream(stream)
        }
        fn stream_items(&mut self, items: Vec<StreamChunk>) -> io::Result<()> {
            self.1.stream_items(items)
        }
    }
    let dir = tempfile::tempdir().expect("a directory");
    let store = sqlite(dir.path(), &HandClock::new(), &Config::default()).await;
    let made = [create("a", &[]), create("a/late", &[("parent", "a")])];
    store.execute(made.to_vec()).await.expect("they are made");
    let asked = || RequestedExecutions::Ids(vec!["a".into()]);
    let selection = GatherSelection { asked: asked(), tree: true };
    let mut sink = Changing(store.clone(), Written::default());
    store.scan().gather(&selection, &mut sink).await.expect("it is gathered");
    let [_, late] = &sink.1.0[..] else { panic!("two were there: {:?}", sink.1.0) };
    assert!(late.contains("Pending") && !late.contains("Settled"), "{late}");
    let now = gathered(&*store, asked(), true).await.expect("it is gathered");
    assert_eq!(now.len(), 3);
    assert!(now[1].contains("Settled"), "{now:?}");
    store.close().await;
}
