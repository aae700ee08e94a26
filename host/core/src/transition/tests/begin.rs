use crate::{
    command::{Command, FenceOperation},
    id::{Claim, Digest, PromiseId, Version},
    promise::{TaskStatus, Verdict},
    reply::{Refusal, Reply, TaskReply},
    tags,
    time::Timestamp,
    world::{self, CheckedStore, claim},
};

fn begun(reply: Reply) -> (TaskReply, Option<Vec<Reply>>) {
    match reply {
        Reply::Begun { task, first } => (*task, first),
        other => panic!("{other:?}"),
    }
}

fn finished() -> Command {
    let mut fulfill = world::fulfill(Claim::first("w".into(), Version(0)));
    if let Command::TaskFulfill { records, .. } = &mut fulfill {
        records.extend([world::started(), world::finished(1)]);
    }
    fulfill
}

fn child() -> FenceOperation {
    let new = world::new("w/0", &[(tags::TARGET, "ship")], Timestamp::NEVER);
    FenceOperation::Create { new, request: None }
}

#[test]
fn an_invocation_that_has_ended_is_made_and_settled_in_one() {
    let mut world = CheckedStore::new();
    world.wait(50);
    let begin = world::begin("w", &[finished()]);
    let (task, first) = begun(world.done(begin.clone()));
    assert!(task.created);
    assert_eq!(task.head.len, 2);
    assert_eq!(task.promise.spec.created_at, Timestamp(1_000), "as old as its first run");
    assert!(matches!(first.as_deref(), Some([Reply::Promise { changed: true, .. }])), "{first:?}");
    assert_eq!(world.verdict("w"), Some(Verdict::Resolved));
    // A repeated beginning returns the outcome and adds nothing.
    let (task, first) = begun(world.done(begin));
    assert_eq!((task.created, first), (false, None));
    assert_eq!(task.promise.settlement().map(|end| end.verdict), Some(Verdict::Resolved));
}

#[test]
fn what_comes_from_the_future_is_made_now() {
    let mut world = CheckedStore::new();
    world.now = Timestamp(400);
    let (task, _) = begun(world.done(world::begin("w", &[])));
    assert_eq!(task.promise.spec.created_at, Timestamp(400));
}

#[test]
fn a_claim_that_goes_on_has_its_first_steps_and_their_children() {
    let mut world = CheckedStore::new();
    let claim = Claim::first("w".into(), Version(0));
    let fence =
        world::fence(claim.clone(), vec![world::started(), world::asked(1, 0)], vec![child()]);
    let begin = world::begin("w", &[fence]);
    let (task, first) = begun(world.done(begin.clone()));
    assert_eq!((task.task.status(), task.task.version), (TaskStatus::Acquired, claim.version));
    assert!(matches!(first.as_deref(), Some([Reply::Fenced { .. }])), "{first:?}");
    assert_eq!(world.status("w/0"), Some(TaskStatus::Pending));
    // The reply was lost: it is given again, and nothing is executed twice.
    let before = world.snapshot.clone();
    let (task, again) = begun(world.done(begin));
    assert!(task.created);
    assert!(matches!(again.as_deref(), Some([Reply::Fenced { .. }])), "{again:?}");
    assert_eq!(world.snapshot, before);
    world.done(world::fulfill(claim));
}

#[test]
fn one_that_waits_at_once_is_made_suspended() {
    let mut world = CheckedStore::new();
    world.done(world::create("p", &[]));
    let suspend = world::suspend(Claim::first("w".into(), Version(0)), &["p"]);
    let (task, first) = begun(world.done(world::begin("w", &[suspend])));
    assert_eq!(first, Some(vec![Reply::Suspended]));
    assert_eq!(task.task.status(), TaskStatus::Suspended);
    world.done(world::settle("p", Verdict::Resolved));
    assert_eq!(world.status("w"), Some(TaskStatus::Pending));
}

#[test]
fn an_invocation_of_somebody_else_is_left_alone() {
    for held in [false, true] {
        let mut world = CheckedStore::new();
        world.done(world::workflow("w"));
        if held {
            world.acquire("w", 1);
        }
        let before = world.snapshot.clone();
        let (task, first) = begun(world.done(world::begin("w", &[finished()])));
        assert_eq!((task.created, first), (false, None));
        assert_eq!(world.snapshot, before, "held: {held}");
    }
}

#[test]
fn what_ran_in_another_module_is_forgotten_and_the_claim_stays() {
    let mut world = CheckedStore::new();
    let other = Digest([8; 32]);
    let mut begin = world::begin("w", &[finished()]);
    if let Command::TaskBegin { module, .. } = &mut begin {
        *module = other;
    }
    let (task, first) = begun(world.done(begin));
    assert_eq!((task.created, first), (true, None));
    assert_eq!((task.task.module, task.head.len), (Some(world::MODULE), 0));
    world.done(finished());
}

#[test]
fn one_that_ran_under_a_version_of_the_past_is_held_and_nothing_of_it_is_done() {
    let mut world = CheckedStore::new();
    world.done(world::outside("old"));
    world.done(world::settle("old", Verdict::Resolved));
    world.done(Command::Prune { top: "old".into(), before: world.now, part: false, state: false });
    // The reply to the first attempt was lost, so the command is sent again.
    for attempt in 0..2 {
        let (task, first) = begun(world.done(world::begin("w", &[finished()])));
        assert_eq!((task.created, first), (true, None), "{attempt}");
        assert_eq!(task.task.status(), TaskStatus::Acquired);
        assert_eq!(task.task.version, world.model.first_version().next());
    }
    world.refused(finished());
}

#[test]
fn one_that_comes_too_late_is_made_as_it_always_was() {
    let mut world = CheckedStore::new();
    let mut begin = world::begin("w", &[finished()]);
    if let Command::TaskBegin { new, .. } = &mut begin {
        new.timeout_at = Timestamp(900);
    }
    let (task, first) = begun(world.done(begin));
    assert_eq!((task.created, first), (true, None));
    assert_eq!(world.verdict("w"), Some(Verdict::TimedOut));
}

#[test]
fn the_turn_of_a_key_is_taken_with_the_beginning_or_waited_for() {
    let mut world = CheckedStore::new();
    let begin = |id: &str| {
        let fence =
            world::fence(Claim::first(id.into(), Version(0)), vec![world::started()], vec![]);
        let mut begin = world::begin(id, &[fence]);
        if let Command::TaskBegin { new, .. } = &mut begin {
            *new = world::keyed_new(id, "add");
        }
        begin
    };
    let (task, first) = begun(world.done(begin("w")));
    assert_eq!((task.task.status(), task.head.len), (TaskStatus::Acquired, 1));
    assert!(matches!(first.as_deref(), Some([Reply::Fenced { .. }])), "{first:?}");
    let (task, first) = begun(world.done(begin("behind")));
    assert_eq!((task.created, task.task.status()), (true, TaskStatus::Suspended));
    assert_eq!((task.head.len, first), (0, None), "nothing of it is done");
    world.done(world::fulfill(Claim::first("w".into(), Version(0))));
    assert_eq!(world.status("behind"), Some(TaskStatus::Pending));
}

#[test]
fn a_part_that_is_refused_takes_the_whole_with_it() {
    let mut world = CheckedStore::new();
    world.done(world::create("p", &[]));
    let claim = || Claim::first(PromiseId::from("w"), Version(0));
    let fenced = world::fence(claim(), vec![world::started()], vec![child()]);
    for (first, kind) in [
        // Records that cannot continue the journal come after an action that is possible.
        (
            vec![fenced.clone(), world::fence(claim(), vec![world::asked(5, 3)], vec![])],
            "journal-mismatch",
        ),
        (vec![fenced, world::suspend(claim(), &["nothing"])], "unprocessable"),
        (vec![world::fulfill(world::claim("w", 2))], "bad-request"),
        (vec![world::fulfill(world::claim("p", 1))], "bad-request"),
        (vec![world::settle("p", Verdict::Resolved)], "bad-request"),
    ] {
        let before = world.snapshot.clone();
        let refusal: Refusal = world.refused(world::begin("w", &first));
        assert_eq!(refusal.kind(), kind, "{first:?}: {refusal}");
        assert_eq!(world.snapshot, before);
    }
    // Without the refused part, the same beginning is possible.
    world.done(world::begin("w", &[]));
    world.done(world::fence(claim(), vec![world::started()], vec![child()]));
    assert_eq!(claim(), self::claim("w", 1));
}
