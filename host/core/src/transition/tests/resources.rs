//! Resources: a stale writer changes nothing.

use crate::{
    command::Command,
    effect::{Effect, Metric},
    id::{Claim, CommandIndex},
    promise::{FenceToken, Resource, ResourceLease},
    reply::{Conflict, Refusal, Reply},
    value::{Text, Value},
    world::{self, CheckedStore},
};

fn read(world: &mut CheckedStore) -> (Option<Resource>, Option<ResourceLease>) {
    match world.done(Command::ResourceGet { name: "r".into() }) {
        Reply::Resource { resource, lease } => (resource.map(|row| *row), lease.map(|row| *row)),
        reply => panic!("{reply:?}"),
    }
}

#[test]
fn a_resource_is_taken_by_one_at_a_time_under_rising_tokens() {
    let mut world = CheckedStore::new();
    assert_eq!(read(&mut world), (None, None));
    world.done(world::lease("r", "ada", 1_000));
    let busy = world.refused(world::lease("r", "bob", 1_000));
    let (name, holder, until) =
        ("r".into(), Text::from("ada"), world.now + crate::time::Millis(1_000));
    assert_eq!(busy, Refusal::Conflict(Conflict::Busy { name, holder, until }));
    world.done(world::lease("r", "ada", 1_000));
    assert_eq!(read(&mut world).1.expect("a lease").token, FenceToken(2));
    world.wait(1_000);
    world.done(world::lease("r", "bob", 1_000));
    world.done(world::lease("r", "bob", 0));
    world.done(world::lease("r", "ada", 1_000));
    assert_eq!(read(&mut world).1.expect("a lease").token, FenceToken(5));
    for wrong in
        [world::lease("", "ada", 1), world::lease("r", "", 1), world::lease("r", "ada", -1)]
    {
        assert!(matches!(world.refused(wrong), Refusal::BadRequest(_)));
    }
}

#[test]
fn a_write_under_an_older_token_is_refused_and_counted() {
    let mut world = CheckedStore::new();
    world.done(world::write("r", "first", 7));
    world.done(world::write("r", "first", 7));
    for (value, token) in [("other", 7), ("late", 6)] {
        let decision = world.decide(&world::write("r", value, token));
        let conflict = Conflict::StaleToken {
            name: "r".into(),
            given: FenceToken(token),
            current: FenceToken(7),
        };
        assert_eq!(decision.reply, Reply::Refused(conflict.into()));
        assert!(decision.effects.contains(&Effect::Count(Metric::FencingRejected)));
    }
    world.done(world::write("r", "second", 8));
    assert_eq!(read(&mut world).0.expect("a resource").value, Value::of(&b"second"[..]));
    assert!(matches!(world.refused(world::write("", "x", 1)), Refusal::BadRequest(_)));
}

#[test]
fn a_lease_passes_whoever_wrote_before() {
    let mut world = CheckedStore::new();
    world.done(world::write("r", "x", 7));
    world.done(world::lease("r", "ada", 1_000));
    assert_eq!(read(&mut world).1.expect("a lease").token, FenceToken(8));
}

#[test]
fn a_claim_writes_with_each_step_and_not_after_a_later_claim() {
    let mut world = CheckedStore::new();
    world.done(world::outside("w"));
    let token = |claim: &Claim, step| FenceToken::of(claim.version, CommandIndex(step)).0;
    let first = world.acquire("w", 1);
    world.done(world::write("r", "one", token(&first, 0)));
    world.done(world::write("r", "two", token(&first, 1)));
    // A repetition of the first write is refused after the second; a repetition of the second has
    // no effect.
    assert_eq!(world.refused(world::write("r", "one", token(&first, 0))).kind(), "stale-token");
    world.done(world::write("r", "two", token(&first, 1)));
    world.wait(20_000);
    world.done(Command::LeaseDue { id: "w".into() });
    let second = world.acquire("w", 2);
    world.done(world::write("r", "three", token(&second, 0)));
    assert_eq!(world.refused(world::write("r", "late", token(&first, 7))).kind(), "stale-token");
    assert_eq!(read(&mut world).0.expect("a resource").value, Value::of(&b"three"[..]));
}
