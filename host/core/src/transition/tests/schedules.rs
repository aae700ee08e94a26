//! Schedules: the promises they create, their order, and skipped occurrences.

use crate::{
    command::Command,
    effect::Effect,
    id::{PromiseId, ScheduleId},
    promise::{
        NewSchedule, Overlap, PromiseTemplate, Schedule, SkipReason, TaskStatus, Verdict, Zone,
    },
    reply::{Conflict, Refusal, Reply},
    tags,
    time::{Millis, Timestamp},
    value::{Text, Value},
    world::{self, CheckedStore, MODULE},
};

const MINUTE: i64 = 60_000;

fn id() -> ScheduleId {
    ScheduleId::from("s")
}

fn due() -> Command {
    Command::ScheduleDue { id: id() }
}

fn backfill(from: i64, to: i64) -> Command {
    Command::ScheduleBackfill {
        id: id(),
        from: Timestamp(from * MINUTE),
        to: Timestamp(to * MINUTE),
    }
}

fn stored(world: &CheckedStore) -> &Schedule {
    world.model.schedule(&id()).expect("the schedule")
}

/// A schedule created at 1 s, with an occurrence every minute.
fn scheduled(overlap: Overlap) -> CheckedStore {
    let mut world = CheckedStore::new();
    world.done(world::schedule("s", overlap));
    world
}

fn made(world: &CheckedStore) -> Vec<&str> {
    world.snapshot.promises.keys().map(PromiseId::as_str).collect()
}

fn new(cron: &str, edit: impl Fn(&mut PromiseTemplate)) -> Command {
    let Command::ScheduleCreate(new) = world::schedule("s", Overlap::Allow) else {
        panic!("it makes a schedule")
    };
    let mut template = new.template.clone();
    edit(&mut template);
    Command::ScheduleCreate(NewSchedule { cron: Text::from(cron), template, ..new })
}

#[test]
fn an_existing_schedule_is_answered_unchanged() {
    let mut world = scheduled(Overlap::Allow);
    let first = stored(&world).clone();
    assert_eq!((first.next_at, first.created_at), (Timestamp(MINUTE), Timestamp(1_000)));
    world.wait(5);
    let reply = world.done(new("0 0 * * *", |template| template.timeout = Millis(1)));
    assert_eq!(reply, Reply::Schedule { schedule: Box::new(first), created: false });
}

#[test]
fn what_could_never_run_is_refused() {
    let mut world = CheckedStore::new();
    for (command, part) in [
        (new("61 * * * *", |_| ()), "is no cron expression"),
        (new("* * * * *", |template| template.id = Text::from("")), "needs a template"),
        (new("* * * * *", |template| template.timeout = Millis(-1)), "a negative time"),
        (new("* * * * *", |template| template.tags.clear()), "`resonate:target`"),
        (
            new("* * * * *", |template| drop(template.tags.insert("timer".into(), "true".into()))),
            "timers",
        ),
    ] {
        let Refusal::BadRequest(message) = world.refused(command) else { panic!("{part}") };
        assert!(message.contains(part), "{message}");
    }
    let target = |target: &'static str| {
        move |template: &mut PromiseTemplate| {
            drop(template.tags.insert(tags::TARGET.into(), target.into()))
        }
    };
    for (command, part) in [
        (new("0 0 30 2 *", |_| ()), "there is no such date"),
        (new("0 0 0 1 1 * 1969", |_| ()), "the last one was 1969-01-01T00:00:00Z"),
        (new("* * * * *", target("nowhere")), "without a module"),
        (new("* * * * *", target("wasm://gone/f")), "not deployed"),
    ] {
        let Refusal::Unprocessable(message) = world.refused(command) else { panic!("{part}") };
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(world.refused(Command::ScheduleDelete { id: id() }), Refusal::NoSchedule(id()));
    assert_eq!(
        world.refused(Command::SchedulePause { id: id(), paused: true }),
        Refusal::NoSchedule(id())
    );
    assert_eq!(world.refused(backfill(0, 1)), Refusal::NoSchedule(id()));
    assert_eq!(world.done(due()), Reply::Done);
}

#[test]
fn missed_occurrences_are_made_one_by_one_stamped_with_their_instants() {
    let mut world = scheduled(Overlap::Allow);
    world.now = Timestamp(2 * MINUTE + 30_000);
    world.done(due());
    assert_eq!(made(&world), ["s@60000"]);
    world.done(due());
    assert_eq!(made(&world), ["s@120000", "s@60000"]);
    let decision = world.decide(&due());
    assert!(decision.delta.is_empty(), "the next one has not come");
    let spec = &world.model.promise(&"s@120000".into()).expect("a promise").spec;
    assert_eq!((spec.created_at, spec.timeout_at), (Timestamp(120_000), Timestamp(220_000)));
    assert_eq!(world.status("s@120000"), Some(TaskStatus::Pending));
    let schedule = stored(&world);
    assert_eq!(schedule.last_at, Some(Timestamp(120_000)));
    assert_eq!(schedule.last_id, Some("s@120000".into()));
    assert_eq!(schedule.next_at, Timestamp(180_000));
}

#[test]
fn an_occurrence_past_its_deadline_is_born_timed_out() {
    let mut world = scheduled(Overlap::Allow);
    world.now = Timestamp(10 * MINUTE);
    world.done(due());
    assert_eq!(world.verdict("s@60000"), Some(Verdict::TimedOut));
    assert_eq!(world.status("s@60000"), Some(TaskStatus::Fulfilled));
    assert_eq!(
        world.model.promise(&"s@60000".into()).expect("it").spec.created_at,
        Timestamp(MINUTE)
    );
}

#[test]
fn what_was_missed_too_long_ago_is_counted_and_left_out() {
    let mut world = scheduled(Overlap::Allow);
    world.config.catch_up = 2;
    world.now = Timestamp(10 * MINUTE);
    for _ in 0..5 {
        world.done(due());
    }
    assert_eq!(made(&world), ["s@540000", "s@600000"]);
    assert_eq!((stored(&world).skipped, stored(&world).next_at), (8, Timestamp(11 * MINUTE)));
}

#[test]
fn an_overlapping_occurrence_is_made_left_out_or_queued() {
    for (overlap, second) in [
        (Overlap::Allow, Some(TaskStatus::Pending)),
        (Overlap::Skip, None),
        (Overlap::Queue, Some(TaskStatus::Suspended)),
    ] {
        let mut world = scheduled(overlap);
        for minute in 1..=2 {
            world.now = Timestamp(minute * MINUTE);
            world.done(due());
        }
        assert_eq!(world.status("s@120000"), second, "{overlap:?}");
        assert_eq!(stored(&world).skipped, u64::from(overlap == Overlap::Skip));
        world.done(world::settle("s@60000", Verdict::Resolved));
        let second = second.map(|_| TaskStatus::Pending);
        assert_eq!(world.status("s@120000"), second, "{overlap:?}");
        world.now = Timestamp(3 * MINUTE);
        world.done(due());
        let third =
            if overlap == Overlap::Queue { TaskStatus::Suspended } else { TaskStatus::Pending };
        assert_eq!(world.status("s@180000"), Some(third), "{overlap:?}");
    }
}

#[test]
fn an_occurrence_that_queues_for_an_object_stands_in_its_line() {
    let mut world = CheckedStore::new();
    let Command::ScheduleCreate(queued) = world::schedule("s", Overlap::Queue) else {
        panic!("it makes a schedule")
    };
    let mut template = queued.template.clone();
    template.tags.insert(tags::TARGET.into(), "wasm://shop/Cart@ada/add".into());
    world.done(Command::ScheduleCreate(NewSchedule { template, ..queued }));
    world.now = Timestamp(MINUTE);
    world.done(due());
    world.done(world::keyed("a", "add"));
    world.now = Timestamp(2 * MINUTE);
    world.done(due());
    let line = world.model.line(&world::cart()).expect("a line");
    assert_eq!(line.holder.as_ref().map(PromiseId::as_str), Some("s@60000"));
    assert_eq!(line.tail.as_str(), "s@120000", "it came after `a`");
    world.done(world::settle("s@60000", Verdict::Resolved));
    let statuses = ["a", "s@120000"].map(|id| world.status(id));
    assert_eq!(statuses, [Some(TaskStatus::Pending), Some(TaskStatus::Suspended)]);
}

#[test]
fn what_overlaps_is_seen_after_its_deadline() {
    let mut world = scheduled(Overlap::Skip);
    world.now = Timestamp(MINUTE);
    world.done(due());
    world.now = Timestamp(3 * MINUTE);
    world.done(due());
    assert_eq!(world.verdict("s@60000"), Some(Verdict::TimedOut), "its deadline was at 160 s");
    assert_eq!(made(&world), ["s@120000", "s@60000"]);
}

#[test]
fn an_alias_is_resolved_when_the_schedule_fires() {
    let mut world = CheckedStore::new();
    world.done(new("* * * * *", |template| {
        template.tags.insert(tags::TARGET.into(), "wasm://shop/order".into());
    }));
    world.now = Timestamp(MINUTE);
    world.done(due());
    assert_eq!(world.model.task(&"s@60000".into()).expect("a task").module, Some(MODULE));
}

#[test]
fn a_paused_schedule_stands_still_and_goes_on_without_making_up() {
    let mut world = scheduled(Overlap::Allow);
    world.done(Command::SchedulePause { id: id(), paused: true });
    world.now = Timestamp(5 * MINUTE + 1);
    world.done(due());
    assert!(made(&world).is_empty());
    world.done(Command::SchedulePause { id: id(), paused: false });
    world.done(due());
    assert!(made(&world).is_empty());
    assert_eq!(stored(&world).next_at, Timestamp(6 * MINUTE));
}

#[test]
fn a_backfill_makes_what_is_missing_once_and_runs_it_now() {
    let mut world = scheduled(Overlap::Allow);
    world.now = Timestamp(60 * MINUTE);
    let reply = world.done(backfill(10, 13));
    assert_eq!(
        reply,
        Reply::Backfilled { made: 3, existing: 0, skipped: 0, because: None, next: None }
    );
    assert_eq!(world.status("s@600000"), Some(TaskStatus::Pending));
    let spec = &world.model.promise(&"s@600000".into()).expect("a promise").spec;
    assert_eq!((spec.created_at, spec.timeout_at), (Timestamp(3_600_000), Timestamp(3_700_000)));
    let reply = world.done(backfill(9, 13));
    assert_eq!(
        reply,
        Reply::Backfilled { made: 1, existing: 3, skipped: 0, because: None, next: None }
    );
    assert_eq!(stored(&world).last_at, None, "the next and the last stay as they are");
    let reply = world.done(backfill(59, 90));
    assert_eq!(
        reply,
        Reply::Backfilled { made: 2, existing: 0, skipped: 0, because: None, next: None },
        "only what was"
    );
    let reply = world.done(backfill(-200, 0));
    let next = Some(Timestamp(-100 * MINUTE));
    assert_eq!(
        reply,
        Reply::Backfilled { made: 100, existing: 0, skipped: 0, because: None, next }
    );
    assert!(matches!(world.refused(backfill(5, 5)), Refusal::BadRequest(_)));
}

#[test]
fn a_backfill_queues_and_skips_as_the_schedule_does() {
    let mut world = scheduled(Overlap::Queue);
    world.now = Timestamp(60 * MINUTE);
    world.done(backfill(10, 13));
    let statuses = ["s@600000", "s@660000", "s@720000"].map(|id| world.status(id));
    let (first, rest) = (Some(TaskStatus::Pending), Some(TaskStatus::Suspended));
    assert_eq!(statuses, [first, rest, rest]);
    world.done(world::settle("s@600000", Verdict::Resolved));
    assert_eq!(world.status("s@660000"), first);
    assert_eq!(world.status("s@720000"), rest);

    let mut world = scheduled(Overlap::Skip);
    world.now = Timestamp(60 * MINUTE);
    let reply = world.done(backfill(10, 13));
    let because = Some(Text::from("`s@600000`, which it started before, has not ended"));
    assert_eq!(reply, Reply::Backfilled { made: 1, existing: 0, skipped: 2, because, next: None });
}

#[test]
fn a_deleted_schedule_makes_nothing_more_and_its_promises_stay() {
    let mut world = scheduled(Overlap::Allow);
    world.now = Timestamp(MINUTE);
    world.done(due());
    world.done(Command::ScheduleDelete { id: id() });
    world.now = Timestamp(2 * MINUTE);
    world.done(due());
    assert_eq!(made(&world), ["s@60000"]);
}

#[test]
fn an_id_that_is_taken_is_not_made_again() {
    let mut world = CheckedStore::new();
    let command = new("* * * * *", |template| {
        template.id = Text::from("always the same");
        template.param = Value::of(&b"7"[..]);
    });
    world.done(command);
    for minute in 1..=2 {
        world.now = Timestamp(minute * MINUTE);
        world.done(due());
    }
    assert_eq!(made(&world), ["always the same"]);
    assert_eq!(stored(&world).last_at, Some(Timestamp(2 * MINUTE)));
}

#[test]
fn after_a_clock_that_ran_ahead_a_schedule_comes_back_to_its_next_occurrence() {
    const YEARS: i64 = 10 * 365 * 24 * 60 * MINUTE;
    let mut world = scheduled(Overlap::Allow);
    world.wait(MINUTE);
    world.done(due());
    let right = world.now;
    world.now = Timestamp(right.0 + YEARS);
    // Ten thousand are skipped per command, and a thousand are caught up.
    for _ in 0..20 {
        world.done(due());
    }
    let ahead = stored(&world).next_at;
    assert!(ahead > Timestamp(right.0 + 60 * MINUTE), "{ahead}");
    world.now = right;
    world.done(due());
    assert_eq!(stored(&world).next_at, Timestamp(2 * MINUTE));
    world.wait(MINUTE);
    world.done(due());
    assert_eq!(stored(&world).last_at, Some(Timestamp(2 * MINUTE)));
    // Small differences between clocks have no effect.
    world.done(due());
    let next = stored(&world).next_at;
    world.now = Timestamp(world.now.0 - 30_000);
    world.done(due());
    assert_eq!(stored(&world).next_at, next);
}

/// The reports of skipped or failed occurrences.
fn told(world: &CheckedStore, command: &Command) -> Vec<Effect> {
    let effects = world.consider(command).effects.into_iter();
    let told = effects.filter(|effect| {
        matches!(effect, Effect::Skipped { .. } | Effect::OccurrenceFailed { .. })
    });
    told.collect()
}

#[test]
fn what_is_left_out_has_a_reason_a_time_and_a_count() {
    let mut world = scheduled(Overlap::Skip);
    world.now = Timestamp(MINUTE);
    world.done(due());
    world.now = Timestamp(2 * MINUTE);
    let [Effect::Skipped { reason: SkipReason::Overlap, count: 1, at, detail, .. }] =
        &told(&world, &due())[..]
    else {
        panic!("it was left out")
    };
    assert_eq!(*at, Timestamp(2 * MINUTE));
    assert!(detail.contains("`s@60000`") && detail.contains("has not ended"), "{detail}");
    world.done(due());
    let skips = &stored(&world).skips;
    let (reason, last) = skips.last().expect("one was left out");
    assert_eq!((reason, last.count, last.at), (SkipReason::Overlap, 1, Timestamp(2 * MINUTE)));

    let mut world = CheckedStore::new();
    world.done(new("* * * * *", |template| {
        template.tags.insert(tags::TARGET.into(), "wasm://shop/order".into());
    }));
    world.done(Command::Undeploy { alias: Text::from("shop"), module: MODULE });
    world.now = Timestamp(MINUTE);
    world.done(due());
    let (reason, last) = stored(&world).skips.last().expect("one was left out");
    assert_eq!((reason, last.count, last.at), (SkipReason::Refused, 1, Timestamp(MINUTE)));
    assert!(last.detail.contains("not deployed"), "{}", last.detail);

    world.config.catch_up = 2;
    world.now = Timestamp(10 * MINUTE);
    world.done(due());
    let skips = &stored(&world).skips;
    let missed = &skips.0[&SkipReason::Missed];
    assert_eq!((missed.count, missed.at), (7, Timestamp(8 * MINUTE)));
    assert_eq!((skips.count(), stored(&world).skipped), (8, 8));
}

#[test]
fn an_occurrence_that_is_halted_is_named_by_those_that_are_left_out() {
    let mut world = CheckedStore::new();
    let template = |template: &mut PromiseTemplate| template.timeout = Millis(900_000);
    let Command::ScheduleCreate(one) = new("* * * * *", template) else { panic!("a schedule") };
    world.done(Command::ScheduleCreate(NewSchedule { overlap: Overlap::Skip, ..one }));
    world.now = Timestamp(MINUTE);
    world.done(due());
    world.done(Command::TaskHalt { id: "s@60000".into() });
    world.now = Timestamp(2 * MINUTE);
    world.done(due());
    let (_, last) = stored(&world).skips.last().expect("one was left out");
    assert!(last.detail.contains("`s@60000`") && last.detail.contains("halted"), "{}", last.detail);
}

#[test]
fn an_occurrence_that_ends_without_a_result_is_told() {
    let mut world = scheduled(Overlap::Allow);
    world.now = Timestamp(MINUTE);
    world.done(due());
    assert!(told(&world, &world::settle("s@60000", Verdict::Resolved)).is_empty());
    let rejected = Effect::OccurrenceFailed {
        schedule: id(),
        id: "s@60000".into(),
        verdict: Verdict::Rejected,
    };
    assert_eq!(told(&world, &world::settle("s@60000", Verdict::Rejected)), [rejected]);
    // An occurrence that was born after its deadline.
    world.now = Timestamp(10 * MINUTE);
    let [Effect::OccurrenceFailed { verdict: Verdict::TimedOut, .. }, ..] =
        &told(&world, &due())[..]
    else {
        panic!("it timed out")
    };
}

#[test]
fn a_trigger_makes_one_at_once_also_of_a_paused_schedule() {
    let trigger = |at: i64| Command::ScheduleTrigger { id: id(), at: Timestamp(at) };
    let mut world = scheduled(Overlap::Skip);
    assert!(matches!(
        world.refused(Command::ScheduleTrigger { id: "x".into(), at: Timestamp(1) }),
        Refusal::NoSchedule(_)
    ));
    world.done(Command::SchedulePause { id: id(), paused: true });
    let before = stored(&world).clone();
    let Reply::Promise { promise, changed: true } = world.done(trigger(1_234)) else {
        panic!("it was made")
    };
    assert_eq!(promise.id().as_str(), "s@1234");
    assert_eq!(promise.spec.timeout_at, world.now + Millis(100_000), "it counts from now");
    assert_eq!(promise.spec.tags[tags::SCHEDULE], "s");
    let last_id = Some("s@1234".into());
    assert_eq!(*stored(&world), Schedule { last_id, ..before });
    // A repetition has no effect; another trigger overlaps.
    assert!(matches!(world.done(trigger(1_234)), Reply::Promise { changed: false, .. }));
    let Refusal::Conflict(Conflict::Overlaps { last, .. }) = world.refused(trigger(1_235)) else {
        panic!("it overlaps")
    };
    assert_eq!(last.as_str(), "s@1234");
}

#[test]
fn occurrences_and_backfills_keep_to_the_clock_of_the_zone() {
    const HOUR: i64 = 60 * MINUTE;
    let Command::ScheduleCreate(daily) = new("30 2 * * *", |_| ()) else { panic!("a schedule") };
    let zone: Zone = "Europe/Berlin".parse().expect("a zone");
    let mut world = CheckedStore::new();
    // 2026-03-28 12:00 UTC: on the next day, the hour from 2 to 3 is skipped.
    world.now = Timestamp(1_774_699_200_000);
    world.done(Command::ScheduleCreate(NewSchedule { zone, ..daily }));
    let leap = Timestamp(1_774_746_000_000);
    assert_eq!(stored(&world).next_at, leap, "03:00 there");
    world.now = leap;
    world.done(due());
    assert_eq!(stored(&world).next_at, Timestamp(leap.0 + 23 * HOUR + 30 * MINUTE));
    world.now = Timestamp(leap.0 + 48 * HOUR);
    let range = Command::ScheduleBackfill {
        id: id(),
        from: Timestamp(leap.0 - 48 * HOUR),
        to: Timestamp(leap.0 + 24 * HOUR),
    };
    let reply = world.done(range);
    let backfilled =
        Reply::Backfilled { made: 3, existing: 1, skipped: 0, because: None, next: None };
    assert_eq!(reply, backfilled);
}

#[test]
fn an_occurrence_with_jitter_is_made_later_under_its_own_name() {
    let Command::ScheduleCreate(exact) = new("0 * * * *", |_| ()) else { panic!("a schedule") };
    let mut world = CheckedStore::new();
    let jitter = Millis::seconds(1_800);
    world.done(Command::ScheduleCreate(NewSchedule { jitter, ..exact.clone() }));
    let fires_at = stored(&world).fires_at(Timestamp(60 * MINUTE));
    assert!(fires_at > Timestamp(60 * MINUTE), "it was drawn");
    world.now = Timestamp(fires_at.0 - 1);
    world.done(due());
    assert!(made(&world).is_empty());
    world.now = fires_at;
    world.done(due());
    assert_eq!(made(&world), ["s@3600000"]);
    let spec = &world.model.promise(&"s@3600000".into()).expect("a promise").spec;
    assert_eq!(spec.timeout_at, fires_at + Millis(100_000));
    for wrong in [-1, 86_400_001] {
        let new = NewSchedule { jitter: Millis(wrong), id: "w".into(), ..exact.clone() };
        assert!(matches!(world.refused(Command::ScheduleCreate(new)), Refusal::BadRequest(_)));
    }
}
