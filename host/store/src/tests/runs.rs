//! Everything that an object holds ends with its run.

use std::sync::Arc;

use segno_core::{
    command::Command,
    config::Config,
    footprint::TREE_LIMIT,
    id::{ObjectId, PromiseId},
    promise::Verdict,
    reply::{Conflict, PruneResult, Reply, RetentionReason},
    tags,
    time::Timestamp,
    value::Value,
};

use super::{HandClock, conformance::compare, create, deploy, memory, new, sqlite};
use crate::{Store, conformance::OBJECTS};

/// Everything that an object holds is removed with its run, even if all of it was created in the
/// same transaction; then the key can run again. Promises with similar names, or of other objects,
/// stay.
pub(super) async fn a_run_takes_all_along(
    model: &dyn Store,
    store: &dyn Store,
    clock: &Arc<HandClock>,
) {
    deploy(model).await;
    deploy(store).await;
    for object in OBJECTS.map(ObjectId::from) {
        let target = format!("wasm://{object}/run");
        let run = |id: &str| {
            Command::PromiseCreate(new(id, &[(tags::TARGET, &target)], Timestamp::NEVER))
        };
        let known = |name: &str| {
            let id = object.promise(name);
            Command::PromiseCreate(new(
                id.as_str(),
                &[(tags::OBJECT, object.as_str())],
                Timestamp::NEVER,
            ))
        };
        let plain = object.as_str().replace('\0', "");
        let (first, second) = (format!("first {plain}"), format!("second {plain}"));
        let prune = |top: &str| Command::Prune {
            top: top.into(),
            before: Timestamp::NEVER,
            part: false,
            state: false,
        };
        let alike = object.promise("alike");
        let commands = vec![
            known("sure"),
            create(alike.as_str(), &[]),
            run(&first),
            known("имя/'"),
            Command::PromiseSettle {
                id: object.promise("sure"),
                verdict: Verdict::Resolved,
                value: Value::default(),
            },
            run(&second),
            Command::Kill { invocation: first.as_str().into() },
            prune(object.promise("sure").as_str()),
            prune(&first),
            run(&second),
            known("sure"),
        ];
        let expected = model.execute(commands.clone()).await.expect("replies");
        let refused = Conflict::RanAlready { object: object.clone(), run: first.as_str().into() };
        assert_eq!(expected[5], Reply::Refused(refused.into()));
        assert_eq!(
            expected[7],
            Reply::Pruned(PruneResult::Kept(RetentionReason::OfObject { object: object.clone() }))
        );
        assert_eq!(expected[8], Reply::Pruned(PruneResult::Gone { promises: 3 }));
        assert!(matches!(expected[10], Reply::Promise { changed: true, .. }));
        assert_eq!(store.execute(commands).await.expect("replies"), expected, "{object}");
        compare(model, store, clock, object.as_str()).await;
    }
}

#[tokio::test]
async fn a_run_takes_all_along_that_its_object_holds() {
    let dir = tempfile::tempdir().expect("a directory");
    let (clock, config) = (HandClock::new(), Config::default());
    let model = memory(&clock, &config);
    let store = sqlite(dir.path(), &clock, &config).await;
    a_run_takes_all_along(&*model, &*store, &clock).await;
}

/// An object with more promises than one command removes is kept whole.
#[tokio::test]
async fn what_is_too_much_for_one_command_stays() {
    let dir = tempfile::tempdir().expect("a directory");
    let (clock, config) = (HandClock::new(), Config::default());
    let store = sqlite(dir.path(), &clock, &config).await;
    deploy(&*store).await;
    let object = ObjectId::from(OBJECTS[0]);
    let known = |n: u32| {
        let id = object.promise(&n.to_string());
        Command::PromiseCreate(new(
            id.as_str(),
            &[(tags::OBJECT, object.as_str())],
            Timestamp::NEVER,
        ))
    };
    let mut commands: Vec<Command> = (0..=TREE_LIMIT).map(known).collect();
    commands.push(create("run", &[(tags::TARGET, "wasm://shop/Signup@ada/run")]));
    commands.push(Command::Kill { invocation: "run".into() });
    store.execute(commands).await.expect("replies");
    let prune = |top: &str, part| {
        let top = PromiseId::from(top);
        vec![Command::Prune { top, before: Timestamp::NEVER, part, state: false }]
    };
    let replies = store.execute(prune("run", false)).await.expect("a reply");
    assert_eq!(replies, [Reply::Pruned(PruneResult::Kept(RetentionReason::Large))]);
    let one = object.promise("7");
    let replies = store.execute(prune(one.as_str(), true)).await.expect("a reply");
    assert_eq!(replies, [Reply::Pruned(PruneResult::Gone { promises: 1 })]);
    let replies = store.execute(prune("run", false)).await.expect("a reply");
    assert_eq!(replies, [Reply::Pruned(PruneResult::Gone { promises: TREE_LIMIT + 1 })]);
}
