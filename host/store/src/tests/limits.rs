//! Names of the maximum length are stored by every store. Longer names are refused with a permanent
//! error by the rules, not by the database.

use std::{collections::BTreeSet, sync::Arc};

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng as _, SeedableRng as _},
};
use segno_core::{
    command::{ClaimRequest, Command, FenceAction, FenceOperation},
    config::Config,
    id::{
        Claim, CommandIndex, Holder, HostName, LONGEST, PromiseId, ResourceName, ScheduleId,
        Version,
    },
    promise::{FenceToken, NewSchedule, Overlap, PromiseTemplate},
    reply::{FenceResult, Refusal, Reply},
    tags,
    time::{Millis, Timestamp},
    value::{Tags, Text, Value},
};

use super::{HandClock, MODULE, create, deploy, forgetful, memory, new, postgres};
use crate::Store;

/// Incompressible text.
fn text(bytes: usize, seed: u64) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut dice = ChaCha8Rng::seed_from_u64(seed);
    (0..bytes).map(|_| char::from(LETTERS[(dice.next_u32() % 64) as usize])).collect()
}

async fn stores() -> Vec<(Arc<dyn Store>, Option<tempfile::TempDir>)> {
    let (clock, engine) = (HandClock::new(), Config::default());
    let dir = tempfile::tempdir().expect("a directory");
    let sqlite = forgetful(dir.path(), &clock, &engine).await;
    let mut stores: Vec<(Arc<dyn Store>, _)> =
        vec![(memory(&clock, &engine), None), (sqlite, Some(dir))];
    if let Some(database) = postgres::database() {
        stores.push((postgres::store(&database, &clock, &engine).await, None));
    }
    for (store, _) in &stores {
        deploy(&**store).await;
    }
    stores
}

async fn reply(store: &dyn Store, command: Command) -> Reply {
    let kind = command.name();
    let replies = store.execute(vec![command]).await;
    replies
        .unwrap_or_else(|error| panic!("{kind}: {error}: {:?}", std::error::Error::source(&error)))
        .remove(0)
}

/// Commands that create entities with names of `bytes` bytes.
fn naming(bytes: usize) -> Vec<Command> {
    let target = [(tags::TARGET, "wasm://shop/order")];
    let name = |seed| text(bytes, seed);
    let claim_request = |node: &str| ClaimRequest {
        holder: Holder { node: HostName::from(node), incarnation: 0 },
        nonce: 1,
        ttl: Millis(15_000),
    };
    let schedule = |id: &str, template: String| {
        Command::ScheduleCreate(NewSchedule {
            id: ScheduleId::from(id),
            cron: Text::from("* * * * *"),
            zone: Default::default(),
            jitter: Millis::ZERO,
            template: PromiseTemplate {
                id: Text::from(&*template),
                param: Value::default(),
                tags: Tags::from([(tags::TARGET.to_owned(), "wasm://shop/order".to_owned())]),
                timeout: Millis::seconds(1),
            },
            overlap: Overlap::Allow,
        })
    };
    // The longest expansion: the schedule's id twice, an instant, and the rest.
    let left = bytes - 2 * 500 - 15;
    let value = Value::of(&b"1"[..]);
    vec![
        create(&name(1), &[]),
        create(&name(2), &target),
        Command::TaskCreate {
            new: new("held", &target, Timestamp::NEVER),
            request: claim_request(&name(3)),
        },
        Command::Signal {
            invocation: "signalled".into(),
            name: Text::from("go"),
            payload: Value::default(),
            key: Some(Text::from(&*name(4))),
        },
        schedule(&name(5), "x@{{.timestamp}}".to_owned()),
        schedule(
            &text(500, 6),
            format!("{{{{.id}}}}{{{{.id}}}}{{{{.timestamp}}}}{}", text(left, 7)),
        ),
        Command::ResourceLease {
            name: ResourceName::from(name(8).as_str()),
            holder: Text::from("me"),
            ttl: Millis(1_000),
        },
        Command::FencedPut {
            name: ResourceName::from(name(9).as_str()),
            value,
            token: FenceToken(1),
        },
        Command::Deploy { alias: Text::from(&*name(10)), module: MODULE },
        Command::HostStart { node: HostName::from(name(11).as_str()) },
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn the_longest_names_are_taken_and_longer_ones_refused_the_same_everywhere() {
    for (store, _dir) in stores().await {
        let target = [(tags::TARGET, "wasm://shop/order")];
        reply(&*store, create("signalled", &target)).await;
        for command in naming(LONGEST + 1) {
            let kind = command.name();
            let reply = reply(&*store, command).await;
            let Reply::Refused(Refusal::BadRequest(sentence)) = reply else {
                panic!("{kind}: {reply:?}")
            };
            assert!(sentence.contains("2048 are the most"), "{kind}: {sentence}");
        }
        for command in naming(LONGEST) {
            let kind = command.name();
            let reply = reply(&*store, command).await;
            assert!(!matches!(reply, Reply::Refused(_)), "{kind}: {reply:?}");
        }
        // Every occurrence of the schedules can be created.
        for id in [text(LONGEST, 5), text(500, 6)] {
            let due = store.execute(vec![Command::ScheduleBackfill {
                id: ScheduleId::from(id.as_str()),
                from: Timestamp(0),
                to: Timestamp(1_001),
            }]);
            let replies = due.await.expect("a reply");
            assert!(matches!(replies[0], Reply::Backfilled { made: 1, .. }), "{replies:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_invocation_makes_has_room_under_the_longest_id_and_is_refused_beyond() {
    for (store, _dir) in stores().await {
        let request = ClaimRequest {
            holder: Holder { node: HostName::from("n"), incarnation: 1 },
            nonce: 1,
            ttl: Millis(15_000),
        };
        let root = PromiseId::new(text(LONGEST, 1));
        let target = [(tags::TARGET, "wasm://shop/order")];
        let new_root = new(root.as_str(), &target, Timestamp::NEVER);
        reply(&*store, Command::TaskCreate { new: new_root, request }).await;
        let make = |index: u32, id: &PromiseId| FenceAction {
            index: CommandIndex(index),
            act: FenceOperation::Create {
                new: new(id.as_str(), &[], Timestamp::NEVER),
                request: None,
            },
        };
        let last = root.command(CommandIndex(u32::MAX));
        let beyond = root.named(&text(512, 2));
        let claim = Claim { id: root.clone(), version: Version(1) };
        let actions = vec![make(0, &last), make(1, &beyond)];
        let fence =
            Command::TaskFence { claim: claim.clone(), records: vec![], logs: vec![], actions };
        let Reply::Fenced { outcomes, .. } = reply(&*store, fence).await else { panic!("refused") };
        assert!(
            matches!(outcomes[0].1, Ok(FenceResult::Promise { changed: true, .. })),
            "{outcomes:?}"
        );
        let Err(Refusal::BadRequest(sentence)) = &outcomes[1].1 else { panic!("{outcomes:?}") };
        assert!(sentence.contains("2560 are the most"), "{sentence}");
        // The ids of its signals and awaited promises, derived from its id, also fit.
        let awaits = BTreeSet::from([root.signal(0)]);
        let suspend = Command::TaskSuspend { claim, records: vec![], logs: vec![], awaits };
        assert_eq!(reply(&*store, suspend).await, Reply::Suspended);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_of_a_resource_never_run_out_by_one_write() {
    for (store, _dir) in stores().await {
        let name = || ResourceName::from("r");
        let put = |token| Command::FencedPut { name: name(), value: Value::default(), token };
        let lease = || Command::ResourceLease {
            name: name(),
            holder: Text::from("me"),
            ttl: Millis(1_000),
        };
        for token in [FenceToken::LAST, FenceToken(u64::MAX), FenceToken(FenceToken::LARGEST.0 + 1)]
        {
            let reply = reply(&*store, put(token)).await;
            assert!(matches!(reply, Reply::Refused(Refusal::BadRequest(_))), "{reply:?}");
        }
        let written = reply(&*store, put(FenceToken::LARGEST)).await;
        assert!(matches!(written, Reply::Resource { .. }), "{written:?}");
        for further in 1..4 {
            let Reply::Resource { lease: Some(lease), .. } = reply(&*store, lease()).await else {
                panic!("no lease")
            };
            assert_eq!(lease.token.0, FenceToken::LARGEST.0 + further);
        }
    }
}
