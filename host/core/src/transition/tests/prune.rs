use crate::{
    command::{Command, FenceOperation},
    footprint::TREE_LIMIT,
    id::{Claim, CommandIndex, PromiseId},
    promise::{FenceToken, OutboxKey, ReleaseReason, Verdict},
    reply::{PruneResult, Reply, RetentionReason},
    tags,
    time::Timestamp,
    value::{Text, Value},
    world::{self, CheckedStore},
};

fn id(id: &str) -> PromiseId {
    PromiseId::from(id)
}

fn prune(world: &mut CheckedStore, top: &str) -> PruneResult {
    let before = world.now;
    match world.done(Command::Prune { top: id(top), before, part: false, state: false }) {
        Reply::Pruned(pruned) => pruned,
        reply => panic!("{reply:?}"),
    }
}

/// Creates these promises under the claim.
fn make(world: &mut CheckedStore, claim: &Claim, children: &[(&str, &[(&str, &str)])]) {
    let create = |(id, tags): &(&str, &[(&str, &str)])| FenceOperation::Create {
        new: world::new(id, tags, Timestamp::NEVER),
        request: None,
    };
    let acts = children.iter().map(create).collect();
    world.done(world::fence(claim.clone(), Vec::new(), acts));
}

/// `order` called `order/0`, which started `order/0/0` as detached; it received a signal, and has
/// ended.
fn order() -> CheckedStore {
    let mut world = CheckedStore::new();
    world.done(world::workflow("order"));
    let claim = world.acquire("order", 1);
    let target = (tags::TARGET, "ship");
    world.done(world::fence(claim.clone(), vec![world::started(), world::asked(1, 0)], vec![]));
    make(&mut world, &claim, &[("order/0", &[target])]);
    let child = world.acquire("order/0", 2);
    make(&mut world, &child, &[("order/0/0", &[target, (tags::DETACHED, "true")])]);
    world.done(world::fulfill(child));
    world.done(Command::Signal {
        invocation: id("order"),
        name: Text::from("go"),
        payload: Value::default(),
        key: Some(Text::from("k")),
    });
    world.done(world::fulfill(claim));
    world.done(Command::OutboxDue { key: OutboxKey::CancelChildren(id("order")) });
    world.done(Command::OutboxDue { key: OutboxKey::CancelChildren(id("order/0")) });
    world
}

#[test]
fn a_finished_tree_goes_with_everything_in_it_and_its_id_begins_anew() {
    let mut world = order();
    let kept = RetentionReason::Pending { id: id("order/0/0") };
    assert_eq!(prune(&mut world, "order"), PruneResult::Kept(kept), "a detached member runs");
    let last = world.acquire("order/0/0", 3);
    world.done(world::fulfill(last));
    let part = RetentionReason::Part { maker: id("order") };
    assert_eq!(prune(&mut world, "order/0"), PruneResult::Kept(part));
    let again = world.done(world::workflow("order"));
    assert!(matches!(again, Reply::Promise { changed: false, .. }), "the id is still known");
    assert_eq!(prune(&mut world, "order"), PruneResult::Gone { promises: 4 });
    let rows = &world.snapshot;
    assert!(rows.promises.is_empty() && rows.tasks.is_empty() && rows.journals.is_empty());
    assert!(rows.signal_keys.is_empty() && rows.callbacks.is_empty() && rows.outbox.is_empty());
    assert_eq!(prune(&mut world, "order"), PruneResult::Kept(RetentionReason::Absent));
    let again = world.done(world::workflow("order"));
    assert!(matches!(again, Reply::Promise { changed: true, .. }));
}

#[test]
fn an_id_that_begins_anew_never_grants_a_claim_again() {
    let mut world = CheckedStore::new();
    world.done(world::outside("order"));
    world.done(world::outside("other"));
    let mut old = world.acquire("order", 1);
    for nonce in 2..5 {
        world.done(world::release(old.clone(), ReleaseReason::Yield));
        old = world.acquire("order", nonce);
    }
    world.done(world::settle("order", Verdict::Resolved));
    assert_eq!(prune(&mut world, "order"), PruneResult::Gone { promises: 1 });

    // All claims of the earlier life are refused, and its tokens are below those of the new one.
    world.done(world::outside("order"));
    for version in 0..=old.version.0 {
        let taken = world.refused(world::acquire("order", version, 9));
        assert_eq!(taken.kind(), "stale-version", "{version}");
    }
    let new = world.acquire("order", 5);
    assert_eq!(world.refused(world::fulfill(old.clone())).kind(), "stale-version");
    let token = |claim: &Claim, step| FenceToken::of(claim.version, CommandIndex(step));
    assert!(token(&new, 0) > token(&old, u32::MAX));
    // The initial version rises only when necessary, not with every tree.
    let first = world.model.first_version();
    world.done(world::settle("other", Verdict::Resolved));
    assert_eq!(prune(&mut world, "other"), PruneResult::Gone { promises: 1 });
    assert_eq!(world.model.first_version(), first);
    world.done(world::fulfill(new));
    assert_eq!(prune(&mut world, "order"), PruneResult::Gone { promises: 1 });
    assert!(world.model.first_version() > first);
}

#[test]
fn what_settled_too_recently_keeps_the_tree() {
    let mut world = order();
    world.wait(1_000);
    let last = world.acquire("order/0/0", 3);
    world.done(world::fulfill(last));
    let before = Timestamp(world.now.0 - 1);
    let reply = world.done(Command::Prune { top: id("order"), before, part: false, state: false });
    assert_eq!(
        reply,
        Reply::Pruned(PruneResult::Kept(RetentionReason::Recent { id: id("order/0/0") }))
    );
}

#[test]
fn a_message_that_is_not_delivered_keeps_the_tree() {
    let mut world = CheckedStore::new();
    world.done(world::create("p", &[]));
    world.done(world::listener("p"));
    world.done(world::settle("p", Verdict::Resolved));
    assert_eq!(prune(&mut world, "p"), PruneResult::Kept(RetentionReason::Owes { id: id("p") }));
    let key = OutboxKey::Unblock(id("p"), Text::from("poll://any@me"));
    world.done(Command::OutboxAck { key });
    assert_eq!(prune(&mut world, "p"), PruneResult::Gone { promises: 1 });

    world.done(world::workflow("loud"));
    let claim = world.acquire("loud", 1);
    let publish = FenceOperation::Publish { topic: Text::from("t"), payload: Value::default() };
    let records = vec![world::started(), world::asked(1, 0)];
    world.done(world::fence(claim.clone(), records, vec![publish]));
    world.done(world::fulfill(claim));
    assert_eq!(
        prune(&mut world, "loud"),
        PruneResult::Kept(RetentionReason::Owes { id: id("loud") })
    );
}

#[test]
fn somebody_who_was_woken_and_has_not_looked_keeps_the_tree() {
    let mut world = CheckedStore::new();
    world.done(world::create("p", &[]));
    world.done(world::outside("waits"));
    let claim = world.acquire("waits", 1);
    world.done(world::suspend(claim, &["p"]));
    world.done(world::settle("p", Verdict::Resolved));
    let kept = RetentionReason::Awaited { id: id("p"), by: id("waits") };
    assert_eq!(prune(&mut world, "p"), PruneResult::Kept(kept));
    let claim = world.acquire("waits", 2);
    assert_eq!(prune(&mut world, "p"), PruneResult::Gone { promises: 1 }, "it has looked");
    world.done(world::fulfill(claim));
}

#[test]
fn a_tree_that_is_too_large_goes_in_parts_from_the_leaves_up() {
    let mut world = CheckedStore::new();
    world.done(world::workflow("root"));
    let root = world.acquire("root", 1);
    let mut act = Vec::new();
    for n in 0..TREE_LIMIT {
        let child = world::new(&format!("root/{n}"), &[(tags::TIMER, "true")], Timestamp(2_000));
        act.push(FenceOperation::Create { new: child, request: None });
    }
    world.done(world::fence(root.clone(), vec![], act));
    world.done(world::fulfill(root));
    world.done(Command::OutboxDue { key: OutboxKey::CancelChildren(id("root")) });
    world.wait(5_000);
    assert!(matches!(prune(&mut world, "root"), PruneResult::Kept(RetentionReason::Owes { .. })));
    while world.model.outbox().next().is_some() {
        world.done(Command::OutboxDue { key: OutboxKey::CancelChildren(id("root")) });
    }
    assert_eq!(prune(&mut world, "root"), PruneResult::Kept(RetentionReason::Large));
    let before = world.now;
    let leaf = world.done(Command::Prune { top: id("root/7"), before, part: true, state: false });
    assert_eq!(leaf, Reply::Pruned(PruneResult::Gone { promises: 1 }));
    assert_eq!(prune(&mut world, "root"), PruneResult::Gone { promises: TREE_LIMIT });
}
